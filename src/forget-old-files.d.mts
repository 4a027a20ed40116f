export function forgetOldFiles(folder: string, current: ReadonlySet<string>, maxAgeMs: number): void;
