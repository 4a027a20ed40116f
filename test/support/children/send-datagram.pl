#!/usr/bin/perl
# Stands in for systemd-notify: sends its arguments, one a line, to NOTIFY_SOCKET.
use strict;
use warnings;
use Socket;

socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or die "socket: $!";
send($socket, join("\n", @ARGV), 0, sockaddr_un($ENV{NOTIFY_SOCKET})) or die "send: $!";
