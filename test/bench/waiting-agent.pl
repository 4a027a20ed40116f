# An app-server whose turn never ends, with two processes of its own. It ends when its stdin is closed, and its processes do not.
$| = 1;
sub reply { print qq({"id":$_[0],"result":$_[1]}\n) }

while (my $line = <STDIN>) {
  my ($id) = $line =~ /^\{"id":(\d+),/;
  next unless defined $id;
  my ($method) = $line =~ /"method":"([^"]+)"/;
  if ($method eq 'thread/start') {
    reply($id, qq({"thread":{"id":"thread-1"},"model":"none","cwd":"$ENV{PWD}"}));
  } elsif ($method eq 'turn/start') {
    for (1 .. 2) { fork or exec 'sleep', 1000 }
    reply($id, '{"turn":{"id":"turn-1","status":"inProgress","items":[],"error":null}}');
  } else {
    reply($id, '{"userAgent":"bench/1"}');
  }
}
