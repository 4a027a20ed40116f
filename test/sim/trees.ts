/** The process tree of one run or one removal. It may outlive the daemon that started it. */
export interface Tree {
  readonly marker: string;
  readonly issueId: string;
  /** The life of the daemon that started it. */
  readonly life: number;
  isAlive: boolean;
  /** The true time until which even SIGKILL does not end it. */
  stubbornUntilMs: number;
}

export class Trees {
  readonly #alive = new Set<Tree>();

  start(marker: string, issueId: string, life: number): Tree {
    const tree: Tree = { marker, issueId, life, isAlive: true, stubbornUntilMs: 0 };
    this.#alive.add(tree);
    return tree;
  }

  /** The tree is gone and no longer listed. */
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
