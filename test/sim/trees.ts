/** The processes of one run or one removal, as one thing. They may outlive the daemon that started them. */
export interface Tree {
  readonly marker: string;
  readonly issueId: string;
  /** Which life of the daemon started it. */
  readonly life: number;
  isAlive: boolean;
  /** True time until which not even SIGKILL ends it. */
  stubbornUntilMs: number;
}

export class Trees {
  readonly #alive = new Set<Tree>();

  start(marker: string, issueId: string, life: number): Tree {
    const tree: Tree = { marker, issueId, life, isAlive: true, stubbornUntilMs: 0 };
    this.#alive.add(tree);
    return tree;
  }

  /** Gone, and out of sight. */
  end(tree: Tree): void {
    tree.isAlive = false;
    this.#alive.delete(tree);
  }

  get alive(): Tree[] {
    return [...this.#alive];
  }

  of(issueId: string): Tree[] {
    return this.alive.filter((tree) => tree.issueId === issueId);
  }
}
