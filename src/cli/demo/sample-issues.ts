import type { NewTask } from '../../tracker/local/new-backlog.js';

/** The issues of the demo. Their bullets are what the demo agent understands; to a person or a real agent they are plain words. */
export const SAMPLE_ISSUES: readonly NewTask[] = [
  {
    id: 'TASK-1',
    title: 'Write a greeting',
    priority: 'high',
    labels: ['text'],
    dependencies: [],
    description: `The project should greet whoever looks at it.

- write \`greeting.txt\`: Hello, world
- run \`wc -c greeting.txt\` to see that it is there`,
  },
  {
    id: 'TASK-2',
    title: 'Translate the greeting',
    priority: 'high',
    labels: ['text'],
    dependencies: ['TASK-1'],
    description: `Once there is a greeting (TASK-1), say the same in two more languages.

- write \`greeting.fr.txt\`: Bonjour, le monde
- write \`greeting.de.txt\`: Hallo, Welt
- run \`cat greeting.fr.txt greeting.de.txt\``,
  },
  {
    id: 'TASK-3',
    title: 'Count the words of the README',
    priority: 'high',
    labels: ['tools'],
    dependencies: [],
    description: `People ask how long the README is. A script should tell them.

- write \`count-words.sh\`: wc -w README.md
- run \`bash count-words.sh\`
- fail once (this line is for the demo agent only: it shows how Baton tries again; real agents pass over it)`,
  },
  {
    id: 'TASK-4',
    title: 'Plan the first release',
    priority: 'medium',
    labels: ['text'],
    dependencies: [],
    description: `Two short files: what has to be done before the release, and what it is called.

- write \`release/plan.md\`: 1. Read everything once more. 2. Tag it. 3. Tell people.
- write \`release/name.txt\`: First Light
- run \`ls release\`
- take two turns (this line is for the demo agent only: it shows how Baton asks an agent to go on; real agents pass over it)`,
  },
  {
    id: 'TASK-5',
    title: 'Thank the contributors',
    priority: 'low',
    labels: ['text'],
    dependencies: [],
    description: `Nothing hurries here: this issue has a low priority and waits until one of the two places is free.

- write \`THANKS.md\`: Thank you, whoever you are.
- run \`cat THANKS.md\``,
  },
];
