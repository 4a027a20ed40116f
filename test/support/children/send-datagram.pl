#!/usr/bin/perl
# Sends its other arguments, one a line, to the socket in the first one, as `systemd-notify` does.
use strict;
use warnings;
use Socket;

my $path = shift;
socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or die "socket: $!";
send($socket, join("\n", @ARGV), 0, pack_sockaddr_un($path)) or die "send: $!";
