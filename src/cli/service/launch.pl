# Connects to systemd's notification socket and then becomes the daemon, in the same process: with NotifyAccess=main systemd accepts notices
# of its main process only, and Node cannot open a Unix datagram socket.
#
#   perl launch.pl <program>...
#
# The program finds the descriptor's number in BATON_NOTIFY_FD.
use strict;
use warnings;
use Socket qw(AF_UNIX SOCK_DGRAM SOCK_NONBLOCK pack_sockaddr_un);

my $path = $ENV{NOTIFY_SOCKET};
delete $ENV{BATON_NOTIFY_FD};
my $socket;
if (defined $path && $path ne '') {
  $path =~ s/^@/\0/; # an abstract socket
  # Descriptors up to this number stay open in the program.
  $^F = 1000;
  # Nonblocking: a daemon must not wait for a busy systemd.
  socket($socket, AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0) && connect($socket, pack_sockaddr_un($path))
    or fail("cannot connect to $ENV{NOTIFY_SOCKET}: $!");
  $ENV{BATON_NOTIFY_FD} = fileno $socket;
}
exec { $ARGV[0] } @ARGV or fail("cannot start $ARGV[0]: $!");

# Not `die`, whose exit code could be 2, after which systemd does not restart.
sub fail {
  print STDERR "baton: @_\n";
  exit 1;
}
