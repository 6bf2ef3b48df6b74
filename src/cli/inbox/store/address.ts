import { open } from 'node:fs/promises'
import { isSecretParameter } from '../../../shared/redact.ts'
import { type CliError, usageError } from '../../errors.ts'
import { reasonOf } from '../../io/files.ts'
import type { Io } from '../../terminal/io.ts'

export type Engine = 'sqlite' | 'postgres' | 'redis'

/** The address of the database that stores an inbox. A URL can contain a password. */
export interface StoreAddress {
  engine: Engine
  /** File path or URL, including its secrets. */
  text: string
  /** Name for messages, with the host and port but without the user, password and path. */
  displayName: string
}

const ENGINES: ReadonlyMap<string, Engine> = new Map([
  ['postgres', 'postgres'],
  ['postgresql', 'postgres'],
  ['redis', 'redis'],
  ['rediss', 'redis'],
])

/**
 * Parses the address of a store. Error messages do not quote the address, because it can contain a password.
 *
 * @param from where the address was given, for error messages
 * @throws {CliError} exit code 2
 */
export function parseStoreAddress(io: Io, text: string, from: string): StoreAddress {
  // A single letter before the colon is a Windows drive, not a scheme.
  const [, scheme] = /^([a-z][a-z\d+.-]+):/i.exec(text) ?? []
  if (scheme === undefined) return fileAddress(text)
  if (scheme.toLowerCase() === 'sqlite') return fileAddress(text.slice('sqlite:'.length))
  const engine = ENGINES.get(scheme.toLowerCase())
  if (!engine) {
    throw usageError(
      `the store in ${from} has an unknown scheme`,
      'Give the path of a SQLite file, or a URL that begins with postgres:// or redis://.',
    )
  }
  return serverAddress(io, engine, text, from)
}

const fileAddress = (path: string): StoreAddress => ({
  engine: 'sqlite',
  text: path,
  displayName: 'the SQLite file',
})

function serverAddress(io: Io, engine: Engine, text: string, from: string): StoreAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // If the password contains an unescaped /, `URL` treats the rest of the password, and the host, as the path.
  if (!url || /@/.test(url.pathname + url.search + url.hash)) {
    throw usageError(
      `the store in ${from} is not a URL`,
      'Percent-encode special characters of its password, for example / as %2F.',
    )
  }
  const name = engine === 'postgres' ? 'PostgreSQL' : 'Redis'
  for (const secret of [text, ...secretsOf(url, engine)]) io.keepSecret(secret)
  return { engine, text, displayName: url.host ? `${name} at ${url.host}` : name }
}

function secretsOf({ username, password, searchParams }: URL, engine: Engine): string[] {
  const inQuery = [...searchParams].filter(([name]) => isSecretParameter(name))
  // Redis accepts redis://password@host, so a user name without a password may itself be the password.
  const login = password || (engine === 'redis' ? username : '')
  return [login, decode(login), ...inQuery.map(([, value]) => value)]
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The bytes at the start of every SQLite file (sqlite.org/fileformat.html, section 1.3). */
const MAGIC = 'SQLite format 3\0'

/**
 * Checks that a SQLite file exists, because opening a missing one would create it.
 *
 * @throws {CliError} exit code 2
 */
export async function requireSqliteFile(path: string, from: string): Promise<void> {
  const invalid = (why: string): CliError =>
    usageError(
      `no inbox at the path in ${from}: ${why}`,
      'The process that receives deliveries creates the inbox.',
    )
  const start = Buffer.alloc(MAGIC.length)
  try {
    const file = await open(path, 'r')
    try {
      await file.read(start, 0, start.length, 0)
    } finally {
      await file.close()
    }
  } catch (error) {
    throw invalid(reasonOf(error))
  }
  if (start.toString('latin1') !== MAGIC) throw invalid('it is not a SQLite file')
}
