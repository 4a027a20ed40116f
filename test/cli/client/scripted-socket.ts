import { mkdirSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createPlainServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A server on the socket of the daemon of a state directory, with scripted responses. */
export function answering(stateDir: string, answer: RequestListener): Promise<Server> {
  return listening(createServer(answer), stateDir);
}

/** The same below HTTP. */
export function talking(stateDir: string, talk: (socket: Socket) => void): Promise<Server> {
  return listening(createPlainServer(talk), stateDir);
}

async function listening(server: Server, stateDir: string): Promise<Server> {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(join(stateDir, 'socket'), resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return server;
}
