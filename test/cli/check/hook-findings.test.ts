import { describe, expect, test } from 'vitest';
import { firstWord } from '../../../src/cli/check/finding.js';
import { shellVariables } from '../../../src/cli/check/hook-findings.js';

const namesIn = (script: string) => shellVariables(script).uses.map(({ name }) => name);

describe('variables that a script reads', () => {
  test.each([
    [`echo $A \${B} "$C" "\${D}"`, ['A', 'B', 'C', 'D']],
    ["echo '$A' \\$B \"\\$C\" $'\\'$D'", []],
    ["echo \"it's $A\" '$B'", ['A']],
    ['echo "$(echo \'$A\' "$B")" \'$C\'', ['B']],
    ['# $A\necho x#$B # $C\n', ['B']],
    [`echo \${A:-x} \${B-x} \${C:+x} \${D:=x} \${E+x}`, []],
    [`echo \${A:-$B}`, ['B']],
    [`echo \${A%x} \${B//a/b} \${#C} \${!D} \${E[0]} \${F:1:2}`, ['A', 'B', 'C', 'D', 'E', 'F']],
    [`echo $1 $@ $# $? $$ $! $- \${1:-x} \${@}`, []],
    ['echo /tmp/$$A $B', ['B']],
    ["cat <<'E'\n$A\nE\necho $B", ['B']],
    ['cat <<E\n$A \\$B\nE\necho $C', ['A', 'C']],
    ['cat <<-E\n\t$A\n\tE\necho $B', ['A', 'B']],
    ['cat <<<"$A"\necho $B', ['A', 'B']],
    ['case $A in a) echo $B;; esac; echo "$C"', ['A', 'B', 'C']],
    ['echo $(( $A + 1 )) "$B"', ['A', 'B']],
  ])('%j', (script, names) => {
    expect(namesIn(script)).toEqual(names);
  });

  test('have a position and the information whether the script requires them', () => {
    expect(shellVariables(`echo\n  : "\${A:?set it}" $B`).uses).toEqual([
      { name: 'A', line: 2, column: 6, isRequired: true },
      { name: 'B', line: 2, column: 20, isRequired: false },
    ]);
  });

  test('exclude names that the script assigns', () => {
    const script = `A=1; export B=2\nfor C in x; do read -r D E; done\nlocal F; printf -v G x; \${H:=1}; I+=(x); J[0]=1 K=2 cmd\necho L =x "$M==1"`;

    expect([...shellVariables(script).assigned].sort()).toEqual('ABCDEFGHIJK'.split(''));
  });

  test.each([
    ['A=1\nexport B=2 C; D="x y" E=3 cmd; declare -x F=1', 'BCDEF'],
    ['A=1 # not a program\nB=2; cmd', ''],
    ['set -a; A=1', 'A'],
    ['A=1; . "$BATON_HOOKS/clone-or-update.sh"', 'A'],
  ])('%j exports %j', (script, names) => {
    expect([...shellVariables(script).exported].sort().join('')).toBe(names);
  });
});

describe('the program that a command starts', () => {
  test.each([
    ['codex app-server', 'codex', 0],
    ['  A=1 B="x y" exec codex', 'codex', 19],
    ['env A=1 "$HOME/bin/my agent" x', '"$HOME/bin/my agent"', 8],
    ["'/opt/a b/codex' app-server", "'/opt/a b/codex'", 0],
  ])('%j', (command, raw, offset) => {
    expect(firstWord(command)).toEqual({ raw, offset });
  });

  test.each([
    '$(touch x)',
    '`touch x`',
    '(codex)',
    '"$(touch x)"',
    '<(x)',
    'env -i codex',
    '# nothing',
    '',
    `"\${A:=$(x)}"`,
  ])('%j is unknown without running it', (command) => {
    expect(firstWord(command)).toBeNull();
  });
});
