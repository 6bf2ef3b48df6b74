import { open } from 'node:fs/promises'
import { type CliError, usageError } from '../../errors.ts'
import { reasonOf } from '../../io/files.ts'

export type Engine = 'sqlite' | 'postgres' | 'redis'

/** Where the deliveries of an inbox are, and what of it nobody may see. */
export interface StoreAddress {
  engine: Engine
  /** The path of a file, or a URL. */
  text: string
  /** As it may be told: without user, password and path. */
  place: string
  /** The text without what is secret in it. */
  redact(text: string): string
}

const ENGINES: ReadonlyMap<string, Engine> = new Map([
  ['postgres', 'postgres'],
  ['postgresql', 'postgres'],
  ['redis', 'redis'],
  ['rediss', 'redis'],
])

/**
 * Reads where an inbox is. What is wrong with it is told without quoting it: it may hold a password.
 *
 * @param from where it came from, for messages
 * @throws {CliError} exit code 2
 */
export function toStoreAddress(text: string, from: string): StoreAddress {
  // One letter is a drive of Windows.
  const [, scheme] = /^([a-z][a-z\d+.-]+):/i.exec(text) ?? []
  if (scheme === undefined) return toFile(text)
  if (scheme.toLowerCase() === 'sqlite') return toFile(text.slice('sqlite:'.length))
  const engine = ENGINES.get(scheme.toLowerCase())
  if (!engine) {
    throw usageError(
      `the store in ${from} is of no kind that is known`,
      'Give the path of a SQLite file, or a URL that begins with postgres:// or redis://.',
    )
  }
  return toServer(engine, text, from)
}

const toFile = (path: string): StoreAddress => ({
  engine: 'sqlite',
  text: path,
  place: 'the SQLite file',
  redact: (text) => text,
})

function toServer(engine: Engine, text: string, from: string): StoreAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // What stands behind an unescaped / would be taken for the path, and what stands before it for the host.
  if (!url || /@/.test(url.pathname + url.search + url.hash)) {
    throw usageError(
      `the store in ${from} is not a URL`,
      'Percent-encode what is special in its password, for example / as %2F.',
    )
  }
  const name = engine === 'postgres' ? 'PostgreSQL' : 'Redis'
  return {
    engine,
    text,
    place: url.host ? `${name} at ${url.host}` : name,
    redact: createRedact([text, ...secretsOf(url)]),
  }
}

function secretsOf({ username, password, searchParams }: URL): string[] {
  const inQuery = [...searchParams].filter(([name]) => /pass|secret|token|key/i.test(name))
  // Redis takes a password alone, too.
  const given = [password || username, ...inQuery.map(([, value]) => value)]
  return given.flatMap((secret) => [secret, decoded(secret)])
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function createRedact(secrets: readonly string[]): StoreAddress['redact'] {
  const known = secrets.filter(Boolean).sort((a, b) => b.length - a.length)
  return (text) => known.reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
}

/** The first bytes of every SQLite file (sqlite.org/fileformat.html, section 1.3). */
const MAGIC = 'SQLite format 3\0'

/**
 * SQLite makes the file that it is to open: whoever only looks must not.
 *
 * @throws {CliError} exit code 2
 */
export async function requireSqliteFile(path: string, from: string): Promise<void> {
  const wrong = (why: string): CliError =>
    usageError(`there is no inbox at the path in ${from}: ${why}`, 'The process that receives makes it.')
  const first = Buffer.alloc(MAGIC.length)
  try {
    const file = await open(path, 'r')
    try {
      await file.read(first, 0, first.length, 0)
    } finally {
      await file.close()
    }
  } catch (error) {
    throw wrong(reasonOf(error))
  }
  if (first.toString('latin1') !== MAGIC) throw wrong('the file is not of SQLite')
}
