import { Argument, Command } from 'commander'
import { addExamples } from '../terminal/help.ts'
import { print } from '../terminal/output.ts'
import { toBashScript } from './bash.ts'
import { toFishScript } from './fish.ts'
import { type CompletedCommand, listCommands } from './tree.ts'
import { toZshScript } from './zsh.ts'

type Shell = 'bash' | 'zsh' | 'fish'

const SCRIPTS: Record<Shell, (commands: readonly CompletedCommand[]) => string> = {
  bash: toBashScript,
  zsh: toZshScript,
  fish: toFishScript,
}

const FIRST_STEPS = `To enable it, add one line to the start-up file of your shell:
  ~/.bashrc                   eval "$(geohook completion bash)"
  ~/.zshrc, after compinit    eval "$(geohook completion zsh)"
  ~/.config/fish/config.fish  geohook completion fish | source
`

export function createCompletionCommand(): Command {
  const command = new Command('completion')
    .summary('print the completion script for a shell')
    .description(
      'Prints a script with which your shell completes the commands, options and option values of geohook.',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
  addExamples(command, ['geohook completion bash'])
  command.addHelpText('after', FIRST_STEPS)
  return command.action((shell: Shell) => {
    const program = command.parent ?? command
    print(SCRIPTS[shell](listCommands(program)).trimEnd())
  })
}
