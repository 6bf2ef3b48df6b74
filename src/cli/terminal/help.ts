import type { Command } from 'commander'

/** Adds examples to the help. A test runs every one of them through the parser. */
export function addExamples(command: Command, examples: readonly string[]): Command {
  return command.addHelpText(
    'after',
    ['', 'Examples:', ...examples.map((line) => `  $ ${line}`), ''].join('\n'),
  )
}
