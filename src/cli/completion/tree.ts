import type { Command, Option } from 'commander'

/** A word that completes a command line. */
export interface Word {
  name: string
  description: string
}

export interface CompletedOption {
  /** Its names, for example `-h` and `--help`. */
  names: string[]
  description: string
  takesValue: boolean
  /** The values to complete. Shells complete file names for other values. */
  choices: readonly string[]
}

/** What can follow a command. */
export interface CompletedCommand {
  /** For example `geohook inbox list`. */
  path: string
  /** Subcommands, or the choices of an argument. Shells complete file names if the list is empty. */
  words: Word[]
  options: CompletedOption[]
}

/** Lists a command and all its subcommands, as its help shows them. */
export function listCommands(command: Command, parents: readonly string[] = []): CompletedCommand[] {
  const path = [...parents, command.name()]
  const help = command.createHelp()
  const subcommands = help.visibleCommands(command)
  const words = subcommands.map((subcommand) => ({
    name: subcommand.name(),
    description: help.subcommandDescription(subcommand),
  }))
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)
  return [
    {
      path: path.join(' '),
      words: words.length > 0 ? words : choices.map((name) => ({ name, description: '' })),
      options: help.visibleOptions(command).map(toCompletedOption),
    },
    ...subcommands.flatMap((subcommand) =>
      // The argument of `help` is the name of a command, although it declares no choices.
      subcommand.name() === 'help'
        ? { path: [...path, 'help'].join(' '), words, options: [] }
        : listCommands(subcommand, path),
    ),
  ]
}

const toCompletedOption = ({ short, long, description, required, argChoices }: Option): CompletedOption => ({
  names: [short, long].filter((name) => name !== undefined),
  description,
  takesValue: required,
  choices: argChoices ?? [],
})

/** Quotes text for bash, zsh and fish. None of our texts contains a backslash, which fish would interpret. */
export const quote = (text: string): string => `'${text.replaceAll("'", `'"'"'`)}'`

/** Returns one quoted string for each name of an option, preceded by the path of its command. */
export const optionPaths = ({ path }: CompletedCommand, { names }: CompletedOption): string[] =>
  names.map((name) => quote(`${path} ${name}`))
