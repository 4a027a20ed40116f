// Loaded into a daemon by --import, with --expose-gc: collects garbage when it gets SIGUSR2.
process.on('SIGUSR2', () => globalThis.gc());
