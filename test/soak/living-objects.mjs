// Counts the objects of this process that survive a garbage collection, and the listeners on them.
import { ChildProcess } from 'node:child_process';
import { EventEmitter, getEventListeners } from 'node:events';
import { Session } from 'node:inspector/promises';
import { Socket } from 'node:net';
import { Stream } from 'node:stream';

const Timeout = Object.getPrototypeOf(setTimeout(() => {}).unref()).constructor;
const CLASSES = { Timeout, ChildProcess, Socket, Stream, EventEmitter, AbortSignal, Promise, Map, Set, Function };

/** Only the inspector returns the objects themselves. A query runs several collections, so one query serves all. */
export async function livingObjects() {
  const session = new Session();
  session.connect();
  // The inspector can only call global names.
  globalThis.batonSoak = countAll;
  try {
    const { result } = await session.post('Runtime.evaluate', { expression: 'Object.prototype' });
    const { objects } = await session.post('Runtime.queryObjects', { prototypeObjectId: result.objectId });
    const reply = await session.post('Runtime.callFunctionOn', {
      functionDeclaration: 'function () { return batonSoak(this); }',
      objectId: objects.objectId,
      returnByValue: true,
    });
    if (reply.exceptionDetails) throw new Error(reply.exceptionDetails.exception.description);
    return reply.result.value;
  } finally {
    session.disconnect();
    delete globalThis.batonSoak;
  }
}

export function listenersOf(emitter) {
  return emitter.eventNames().reduce((n, name) => n + emitter.listenerCount(name), 0);
}

function countAll(objects) {
  const counts = { objects: objects.length, emitterListeners: 0, abortListeners: 0 };
  for (const name of Object.keys(CLASSES)) counts[name] = 0;
  const known = new Map();
  for (const object of objects) {
    const prototype = Object.getPrototypeOf(object);
    if (!known.has(prototype)) known.set(prototype, classesOf(prototype));
    const names = known.get(prototype);
    for (const name of names) counts[name] += 1;
    // Prototypes of subclasses are found too; they have no own listeners.
    if (names.includes('EventEmitter') && Object.hasOwn(object, '_events'))
      counts.emitterListeners += listenersOf(object);
    if (names.includes('AbortSignal')) counts.abortListeners += getEventListeners(object, 'abort').length;
  }
  return counts;
}

function classesOf(prototype) {
  return Object.keys(CLASSES).filter((name) => {
    const wanted = CLASSES[name].prototype;
    return prototype === wanted || Object.prototype.isPrototypeOf.call(wanted, prototype);
  });
}
