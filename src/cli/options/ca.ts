import { createTrust, type Trust, toPems } from '../../shared/tls-trust.node.ts'
import { usageError } from '../errors.ts'
import { readInput } from '../io/files.ts'
import type { Io } from '../terminal/io.ts'
import type { CliCommand } from './command.ts'
import { collect } from './values.ts'

/** Value of `--ca`. */
export interface CaOptions {
  ca?: string[] | undefined
}

/** Adds `--ca`. */
export const addCaOption = (command: CliCommand): unknown =>
  command.option(
    '--ca <file>',
    'file with a CA certificate to trust for https, besides those of Node; repeatable',
    collect,
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
