import { CaptureTag, type Context, type FS, Liquid, Tag } from 'liquidjs';
import { BoundedOutput, MAX_ALLOCATIONS, MAX_TEMPLATE_LENGTH } from './render-limits.js';

/** Liquid that knows no files, no prototypes and no silent blanks. */
export function strictLiquid(): Liquid {
  const liquid = new Liquid({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    dynamicPartials: false,
    relativeReference: false,
    cache: false,
    fs: NO_FILES,
    parseLimit: MAX_TEMPLATE_LENGTH,
    memoryLimit: MAX_ALLOCATIONS,
  });
  for (const name of ['include', 'render', 'layout', 'block']) liquid.registerTag(name, RefusedTag);
  liquid.registerTag('capture', BoundedCapture);
  return liquid;
}

const refuse = (): never => {
  throw new Error('a prompt cannot read files');
};

// The tags that would ask for files are refused already; this is what stands behind them.
const NO_FILES: FS = {
  exists: async () => false,
  existsSync: () => false,
  readFile: async () => refuse(),
  readFileSync: refuse,
  resolve: refuse,
  contains: async () => false,
  containsSync: () => false,
};

class RefusedTag extends Tag {
  constructor(...[token, remaining, liquid]: ConstructorParameters<typeof Tag>) {
    super(token, remaining, liquid);
    throw new Error(
      `{% ${token.name} %} is not available: a prompt cannot read files, so write the text into WORKFLOW.md`,
    );
  }

  override render(): never {
    return refuse();
  }
}

/** The stock tag does not charge the memory limit, so that a capture of itself, twice, would double for ever. */
class BoundedCapture extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    const output = new BoundedOutput((length) => context.memoryLimit.use(length));
    yield this.liquid.renderer.renderTemplates(this.templates, context, output);
    Object.defineProperty(context.bottom(), this.variable, {
      value: output.buffer,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  }
}
