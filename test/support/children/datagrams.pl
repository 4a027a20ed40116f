# Listens on a Unix datagram socket, as systemd does, and prints each message on one line: its lines joined by " | ".
use strict;
use warnings;
use Socket;

my ($path) = @ARGV;
$| = 1;
socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or die "socket: $!";
bind($socket, sockaddr_un($path)) or die "bind: $!";
print "listening\n";
# A descriptor that comes along (the barrier of systemd-notify) is dropped, and so closed: that is the answer to it.
while (defined recv($socket, my $message, 65536, 0)) {
  $message =~ s/\n/ | /g;
  print "$message\n";
}
