import { readFileSync } from 'node:fs'
import { Option } from 'commander'
import { createTrust, type Trust, toPems } from '../../adapters/tls-trust.ts'
import { usageError } from '../errors.ts'
import { readInput, reasonOf } from '../io/files.ts'
import { collect } from '../options/values.ts'
import { currentFiles } from './ca-folder.ts'
import { isAbsent } from './stored-ca.ts'

/** Value of `--ca`. */
export interface CaOptions {
  ca?: string[] | undefined
}

/** The option `--ca`. */
export const caOption = (): Option =>
  new Option(
    '--ca <file>',
    'file with a CA certificate to trust for https, besides those of Node and of geohook listen --https; repeatable',
  ).argParser(collect)

const MAX_BYTES = 1024 * 1024

/**
 * Reads the files of `--ca`. The certificate of the local CA is read at each call of the returned function, because
 * `geohook listen --https` may create it later.
 *
 * @throws {CliError} exit code 2 for an unreadable file, or one without certificates
 */
export async function readCas({ ca = [] }: CaOptions): Promise<() => readonly string[]> {
  const pems: string[] = []
  for (const file of ca) {
    const bytes = await readInput(file, MAX_BYTES)
    try {
      pems.push(...toPems(bytes))
    } catch {
      throw usageError(`${file} contains no certificate`, 'Give a file in PEM or DER.')
    }
  }
  return () => [...readLocalCertificate(), ...pems]
}

export const readTrust = async (options: CaOptions): Promise<Trust> => createTrust(await readCas(options))

/** @throws {CliError} exit code 2 for an unreadable or damaged file */
function readLocalCertificate(): readonly string[] {
  const { certificate, folder } = currentFiles()
  try {
    return toPems(readFileSync(certificate))
  } catch (error) {
    if (isAbsent(error as NodeJS.ErrnoException)) return []
    const { code } = error as NodeJS.ErrnoException
    const why = code === undefined ? 'it is not a certificate' : reasonOf(error)
    // The mock service shows only the message.
    const fix = `remove ${folder}, and the next geohook listen --https makes a new CA`
    throw usageError(
      `cannot read ${certificate}, the certificate of the local CA (${why}): ${fix}`,
      '',
      'ca_invalid',
    )
  }
}
