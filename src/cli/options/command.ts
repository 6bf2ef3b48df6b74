import { Command, Option } from 'commander'
import { createTrust, type Trust, toPems } from '../../shared/tls-trust.node.ts'
import { usageError } from '../errors.ts'
import { readInput } from '../io/files.ts'
import type { Io } from '../terminal/io.ts'
import { listOf } from './values.ts'

/** A command of the program, or a family of them. */
export class CliCommand extends Command {
  with(addOptions: (command: this) => unknown): this {
    addOptions(this)
    return this
  }

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

/** Returns an option as the user writes it, for example `--layer-id` for `layerId`. */
export const toFlag = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** @throws {CliError} exit code 2 if the first option of a pair is given without the second, which it requires */
export function requireOthers<T extends object>(
  options: T,
  pairs: readonly (readonly [keyof T & string, keyof T & string])[],
): void {
  for (const [name, other] of pairs)
    if (options[name] !== undefined && options[other] === undefined)
      throw usageError(`${toFlag(name)} requires ${toFlag(other)}`)
}

export interface CaOptions {
  ca?: string[] | undefined
}

export const addCaOption = (command: CliCommand): unknown =>
  command.option(
    '--ca <file>',
    'file with a CA certificate to trust for https, besides those of Node; repeatable',
    listOf(String),
  )

const MAX_BYTES = 1024 * 1024

/**
 * Reads the files of `--ca`.
 *
 * @throws {CliError} exit code 2 for an unreadable file, or one without certificates
 */
export async function readCas(io: Io, { ca = [] }: CaOptions): Promise<readonly string[]> {
  const pems: string[] = []
  for (const file of ca) {
    const bytes = await readInput(io, file, MAX_BYTES)
    try {
      pems.push(...toPems(bytes))
    } catch {
      throw usageError(`${file} contains no certificate`, 'Give a file in PEM or DER.')
    }
  }
  return pems
}

export const readTrust = async (io: Io, options: CaOptions): Promise<Trust> =>
  createTrust(await readCas(io, options))
