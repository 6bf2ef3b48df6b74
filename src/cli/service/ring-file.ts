import { readFile, realpath, rm, stat } from 'node:fs/promises'
import { platform } from 'node:process'
import { isObject, tryJson } from '../../shared/json.ts'
import { failure, usageError } from '../errors.ts'
import { reasonOf } from '../io/files.ts'
import { lock, partOf, replaceFile } from '../io/replace-file.ts'
import { type Io, printable } from '../terminal/io.ts'

/** A key in the file of a keyring. Other members are kept. */
export interface RingKey {
  readonly id: string
  readonly key: string
}

/** The states of a rotation, in their order. The journal names a state before the rotation enters it. */
export const STATES = ['add', 'settle', 'switch', 'prove', 'drain', 'remove'] as const
export type State = (typeof STATES)[number]

/** The counts of a receiver. */
export interface Counts {
  refused: number
  /** Deliveries that were verified with each key, by its id. */
  matched: Readonly<Record<string, number>>
}

/** An open rotation. Contains no secret. */
export interface Journal {
  /** Address of the administration. */
  url: string
  product: string
  state: State
  /** When the rotation entered the state. */
  since: string
  /** Ids of the key that the rotation removes, and of the one that stays. */
  from: string
  to: string
  /** True if the rotation goes back. */
  isBack: boolean
  webhooks: { service: string; id: string; name: string; isDeleted?: boolean }[]
  /** Milliseconds until every receiver has read the keyring; the number of receivers with `--health`. */
  settle: number
  expected: number
  /** Milliseconds for which no delivery may match the old key before the rotation removes it. */
  drain: number
  /** True if the file is copied to the receivers after each step. */
  isStepwise?: boolean
  /** True if a handshake may fail. */
  acceptsGap?: boolean
  /** True if the old key is removed at once. */
  compromised?: boolean
  /** Deliveries that the key `to` had verified before the edits. */
  before?: number
  /** When the last edit was made. */
  switchedAt?: string
  /** When a receiver last matched the old key. */
  matchedAt?: string
  /** The counts of each receiver, by its random id: when it was first seen, and now. */
  receivers: Record<string, { first: Counts; last: Counts }>
}

/** The file of a keyring, locked for this process, and the journal next to it. */
export interface Ring {
  /** As the user wrote it. */
  readonly name: string
  readonly keys: readonly RingKey[]
  readonly journal: Journal | undefined
  /** Replaces the keys, or writes the same ones again. Prints a note if the file had to be overwritten. */
  write(keys?: readonly RingKey[]): Promise<void>
  /** Writes the journal. */
  save(journal: Journal): Promise<void>
  /** Deletes the journal. */
  finish(): Promise<void>
  release(): Promise<void>
}

/**
 * Locks the file of a keyring, and reads it. From then on, all output hides its keys.
 *
 * @throws {CliError} exit code 2 if it cannot be read, is invalid, or another process has locked it; 1 if every user can
 *   read or change it
 */
export async function openRing(io: Io, name: string): Promise<Ring> {
  // Resolves a symbolic link, because writing would replace the link instead of its target.
  const path = await realpath(name).catch((error: unknown) => {
    throw usageError(`cannot read ${name}: ${reasonOf(error)}`, HINT)
  })
  const journalPath = `${path}.rotation`
  const release = await lock(path)
  try {
    const { mode, nlink } = await stat(path)
    if (platform !== 'win32' && (mode & 0o006) > 0)
      throw failure(
        'keyring_exposed',
        `every user of this machine can read or change ${name}`,
        'Change its mode to 0600, or to 0640 with a group of your own.',
      )
    if (nlink > 1)
      throw failure(
        'rotation_refused',
        `${name} has ${nlink} hard links`,
        'A receiver that reads another of them would keep the old keys. Use symbolic links.',
      )
    const journal = await readJournal(journalPath)
    let document = await readKeys(path, name).catch(async (error: unknown) => {
      // A process was killed while it overwrote the file. The temporary file has the complete content.
      const whole = journal && (await readKeys(partOf(path), name).catch(() => undefined))
      if (!whole) throw error
      await replaceFile(path, whole.text, await stat(path))
      return whole
    })
    const hideKeys = (): void => {
      for (const { key } of document.keys) io.keepSecret(key)
    }
    hideKeys()
    return {
      name,
      get keys() {
        return document.keys
      },
      journal,
      async write(keys) {
        const { text: current } = await readKeys(path, name)
        if (current !== document.text)
          throw failure(
            'rotation_failed',
            `${name} was changed during the rotation`,
            'Check the file, and run the command again.',
          )
        if (keys) document = { keys, text: toText(document.text, keys, name) }
        hideKeys()
        const kept = await stat(path)
        if ((await replaceFile(path, document.text, kept)) && !io.json && keys)
          io.note(printable(`${name} is mounted by itself, so it was overwritten, not replaced`))
      },
      async save(next) {
        await replaceFile(journalPath, `${JSON.stringify(next, null, 2)}\n`)
      },
      finish: () => rm(journalPath, { force: true }),
      release,
    }
  } catch (error) {
    await release()
    throw error
  }
}

/** Maximum size in bytes, and maximum number of keys, that receivers accept. */
const [MAX_SIZE, MAX_KEYS] = [1024 * 1024, 100]

/** Replaces the keys in the text of a keyring, which may have other members. @throws {CliError} exit code 1 */
function toText(before: string, keys: readonly RingKey[], name: string): string {
  const indent = before.trim().includes('\n') ? 2 : undefined
  const text = `${JSON.stringify({ ...JSON.parse(before), keys }, null, indent)}\n`
  if (keys.length <= MAX_KEYS && Buffer.byteLength(text) <= MAX_SIZE) return text
  throw failure('rotation_refused', `${name} would be larger than 1 MiB or have more than ${MAX_KEYS} keys`)
}

const HINT = 'It is a file like {"keys":[{"id":"2026-11","key":"…"}]} (docs/reference.md, "Keys in a file").'

async function readKeys(path: string, name: string): Promise<{ keys: readonly RingKey[]; text: string }> {
  const { keyring } = await import('../../adapters/node.ts')
  try {
    keyring(path)
  } catch (error) {
    throw usageError(
      (error as Error).message.replace(path, () => name),
      HINT,
      'keyring_invalid',
    )
  }
  const text = (await readFile(path, 'utf8')).replace(/^\ufeff/, '')
  return { keys: JSON.parse(text).keys, text }
}

/** @throws {CliError} exit code 2 */
async function readJournal(path: string): Promise<Journal | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw usageError(`cannot read ${path}: ${reasonOf(error)}`)
  })
  if (text === undefined) return undefined
  const journal = tryJson(text)
  const { state, since, from, to, webhooks, drain, settle, receivers } = (journal ?? {}) as Partial<Journal>
  const isValid =
    isObject(journal) &&
    STATES.includes(state as State) &&
    !Number.isNaN(Date.parse(String(since))) &&
    [from, to].every((id) => typeof id === 'string') &&
    [drain, settle].every(Number.isFinite) &&
    isObject(receivers) &&
    Array.isArray(webhooks) &&
    webhooks.every(isObject)
  if (isValid) return journal as unknown as Journal
  throw usageError(
    `${path} is not the journal of a rotation`,
    'If you have changed it, delete it, and check the keyring and the webhooks yourself.',
    'journal_invalid',
  )
}
