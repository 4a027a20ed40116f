export interface TrialProcess {
  readonly pid: number;
  readonly startTime: number;
  readonly command: string;
}

export function processesWith(number: string): TrialProcess[];
