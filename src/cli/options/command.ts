import { Command, Option } from 'commander'

/** A command of the program, or a family of them. */
export class CliCommand extends Command {
  /** Adds options that several commands have. */
  with(addOptions: (command: this) => unknown): this {
    addOptions(this)
    return this
  }

  /** Adds an option with a fixed list of values. */
  choice(flags: string, description: string, values: readonly string[], defaultValue?: string): this {
    return this.addOption(new Option(flags, description).choices(values).default(defaultValue))
  }

  requiredChoice(flags: string, description: string, values: readonly string[]): this {
    return this.addOption(new Option(flags, description).choices(values).makeOptionMandatory())
  }

  /** Adds examples to the help. A test checks that every example can be parsed. */
  examples(...lines: string[]): this {
    return this.addHelpText('after', ['', 'Examples:', ...lines.map((line) => `  $ ${line}`), ''].join('\n'))
  }
}
