# Listens on a Unix datagram socket, as systemd does, and prints each message on one line: the pid that the kernel reports for the sender,
# and the lines of the message joined by " | ". `@name` is an abstract socket.
use strict;
use warnings;
use POSIX ();
use Socket;

my ($path) = @ARGV;
$| = 1;
socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or die "socket: $!";
setsockopt($socket, SOL_SOCKET, SO_PASSCRED, 1) or die "setsockopt: $!";
bind($socket, pack_sockaddr_un($path =~ s/^@/\0/r)) or die "bind: $!";
print "listening\n";
while (my ($message, $sender) = receive()) {
  $message =~ s/\n/ | /g;
  print "$sender $message\n";
}

# Perl has no recvmsg. The structures are those of 64-bit Linux: struct msghdr, struct iovec, struct cmsghdr and struct ucred.
sub receive {
  my ($data, $control) = ("\0" x 65536, "\0" x 256);
  my $iovec = pack 'PQ', $data, length $data;
  my $header = pack 'QLx4PQPQlx4', 0, 0, $iovec, 1, $control, length $control, 0;
  my $number = {x86_64 => 47, aarch64 => 212}->{(POSIX::uname())[4]} or die 'unknown architecture';
  my $length = syscall $number, fileno $socket, $header, 0;
  die "recvmsg: $!" if $length < 0;
  return (substr($data, 0, $length), (unpack 'QllL', $control)[3]);
}
