# An app-server that finishes its issue in the first turn. In perl, which starts in three milliseconds and reads in blocks, so that it costs
# less than what is measured. With one argument: the port of the tracker, which learns from a request that the issue is done.
use Socket;
$| = 1;
my ($port) = @ARGV;
my ($issue) = $ENV{PWD} =~ m{([^/]+)$};

sub reply { print qq({"id":$_[0],"result":$_[1]}\n) }

while (my $line = <STDIN>) {
  my ($id) = $line =~ /^\{"id":(\d+),/;
  my ($method) = $line =~ /"method":"([^"]+)"/;
  if ($method =~ m{^thread/(start|resume)$}) {
    reply($id, qq({"thread":{"id":"thread-$issue"},"model":"none","cwd":"$ENV{PWD}"}));
  } elsif ($method eq 'turn/start') {
    reply($id, '{"turn":{"id":"turn-1","status":"inProgress","items":[],"error":null}}');
    socket(my $tracker, PF_INET, SOCK_STREAM, 0) or die $!;
    connect($tracker, sockaddr_in($port, INADDR_LOOPBACK)) or die $!;
    syswrite $tracker, "GET /done/$issue HTTP/1.0\r\n\r\n";
    sysread $tracker, my $answer, 1000;
    print qq({"method":"turn/completed","params":{"threadId":"thread-$issue","turn":{"id":"turn-1","status":"completed","items":[],"error":null}}}\n);
  } elsif (defined $id) {
    reply($id, '{"userAgent":"bench/1"}');
  }
}
