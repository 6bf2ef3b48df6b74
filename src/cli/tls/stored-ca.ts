import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { type CliError, usageError } from '../errors.ts'
import { reasonOf } from '../io/files.ts'
import type { CaFiles } from './ca-folder.ts'
import type { KeyPair } from './issue.ts'

/** A CA that was read from its files. */
export interface StoredCa extends KeyPair {
  serialNumber: string
  validFrom: number
  validTo: number
}

/** A CA is renewed when fewer days are left, so that it outlives the certificates that it issues. */
const MIN_DAYS = 30

/** True if the CA must be renewed. */
export const isDue = ({ validFrom, validTo }: StoredCa, now: number): boolean =>
  now < validFrom || validTo - now < MIN_DAYS * 24 * 3_600_000

/** How often to read the files again while another process renews them. */
const MAX_READS = 5

/** @returns undefined for missing files. @throws {CliError} exit code 2 for damaged, unreadable or public files */
export async function readCa(files: CaFiles): Promise<StoredCa | undefined> {
  for (let read = 1; ; read++) {
    try {
      const pair = await readFiles(files)
      return pair && parse(pair, files)
    } catch (error) {
      // The two files may belong to different CAs if another process has just replaced them.
      if (read === MAX_READS) throw error
    }
  }
}

async function readFiles({ folder, certificate, key }: CaFiles): Promise<KeyPair | undefined> {
  const exists = await stat(folder).then(
    () => true,
    (error: NodeJS.ErrnoException) => !isAbsent(error),
  )
  if (!exists) return undefined
  try {
    await requirePrivate(key)
    return { certificate: await readFile(certificate, 'utf8'), key: await readFile(key, 'utf8') }
  } catch (error) {
    throw error instanceof Error && 'exitCode' in error ? error : damaged(folder, reasonOf(error))
  }
}

/** True if the file, or a part of its path, does not exist. */
export const isAbsent = ({ code = '' }: NodeJS.ErrnoException): boolean =>
  code === 'ENOENT' || code === 'ENOTDIR'

/** @throws {CliError} exit code 2 if other users can read or replace the key. Windows has no such modes. */
async function requirePrivate(key: string): Promise<void> {
  if (process.platform === 'win32' || ((await stat(key)).mode & 0o077) === 0) return
  throw usageError(
    `other users can read ${key}`,
    'Remove its folder: the next start makes a new CA. Or, if you trust them: chmod 600.',
    'ca_invalid',
  )
}

function parse(pair: KeyPair, { folder }: CaFiles): StoredCa {
  let parsed: X509Certificate
  let matches: boolean
  try {
    parsed = new X509Certificate(pair.certificate)
    matches = parsed.checkPrivateKey(createPrivateKey(pair.key))
  } catch {
    throw damaged(folder, 'a file is not PEM')
  }
  if (!parsed.ca) throw damaged(folder, 'the certificate is not that of a CA')
  if (!matches) throw damaged(folder, 'the key does not belong to the certificate')
  const { serialNumber, validFrom, validTo } = parsed
  return { ...pair, serialNumber, validFrom: Date.parse(validFrom), validTo: Date.parse(validTo) }
}

const damaged = (folder: string, why: string): CliError =>
  usageError(
    `the local CA in ${folder} is damaged: ${why}`,
    'Remove this folder: the next start makes a new CA, which programs must trust instead.',
    'ca_invalid',
  )
