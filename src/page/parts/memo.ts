import { Component, type ComponentChildren, type FunctionComponent, h } from 'preact';

/** A component that is drawn again only when one of its properties has become another: a list of a thousand stays quick. */
export function memo<P extends object>(render: (props: P) => ComponentChildren, name: string): FunctionComponent<P> {
  class Memo extends Component<P> {
    static override displayName = name;

    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const keys = new Set([...Object.keys(this.props), ...Object.keys(next)]) as Set<keyof P>;
      return [...keys].some((key) => this.props[key] !== next[key]);
    }

    override render() {
      return h(render as FunctionComponent<P>, this.props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
