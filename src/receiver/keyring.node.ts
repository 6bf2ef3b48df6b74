import { isUtf8 } from 'node:buffer'
import { promises, readFileSync, type Stats, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { importKey } from '#runtime'
import { blameCaller, configInvalid, WebhookError } from '../errors.ts'
import { describeMissing, isText, requireValue } from '../options.ts'
import { isObject, tryJson } from '../shared/json.ts'
import {
  findKeyError,
  KEYRING_PORT,
  type Keyring,
  type KeyringFile,
  type KeyringPort,
  MAX_KEYS,
} from '../signature/keyring.ts'
import { warn } from './log.ts'

// Read at import time, before tests install fake timers, which would never fire.
const { setTimeout, clearTimeout, performance } = globalThis
const monotonic = performance.now.bind(performance)

/** Milliseconds after which a request makes the receiver read the file again. */
const MAX_AGE = 1_000

/** Minimum milliseconds between two reads before a refusal. Anyone can send requests that are refused. */
const MIN_INTERVAL = 100

/** Maximum milliseconds to wait for a read. On a network file system, it can hang. */
const MAX_WAIT = 2_000

/** A timer that fires this many milliseconds late shows that the process was paused. */
const PAUSE = 100

/** Maximum size of the file in bytes. */
const MAX_SIZE = 1024 * 1024

/**
 * Returns the keys in a JSON file as a value for the option `signatureKey`:
 * `{"keys":[{"id":"2026-11","key":"…"},{"id":"2026-05","key":"…"}]}`, newest first. The file may change while receivers
 * run. They read it again if the last time was a second ago, and before they refuse a signature, so a delivery that is
 * signed with a key in the file is never refused. If the file cannot be read or is invalid, a process warning says so,
 * and the last valid keys stay in use.
 *
 * @param path a file of at most 1 MiB with 1 to 100 keys, whose ids have at most 100 letters, digits, `_`, `-`, `.`
 *   and `:`
 * @throws {WebhookError} `config_invalid` if the file is missing or invalid
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { createReceiver } from 'geohook'
 * import { keyring, webhook } from 'geohook/node'
 *
 * const receiver = createReceiver({ signatureKey: keyring('/run/secrets/keys.json') }).on('*', console.log)
 * createServer(webhook(receiver)).listen(3000)
 * ```
 */
export function keyring(path: string): KeyringFile {
  return blameCaller(keyring, () => openKeyring(path))
}

function openKeyring(given: string): KeyringFile {
  if ((given ?? '') === '') throw configInvalid(describeMissing('path', given))
  const path = resolve(requireValue('path', given, isText))
  let bytes: Uint8Array | undefined
  let keys: readonly string[] = []
  let keyring: Keyring = []
  let problem: string | undefined
  let isExposed = false

  /** @throws {WebhookError} `config_invalid` */
  function apply([{ mode }, read]: readonly [Stats, Buffer]): void {
    if (!bytes || !read.equals(bytes)) {
      const entries = readEntries(read)
      // Receivers count by these objects, so a key that stays keeps its object.
      keyring = entries.map(({ id, key }) =>
        Object.assign(keyring[keys.indexOf(key)] ?? importKey(key), { id }),
      )
      keys = entries.map(({ key }) => key)
      bytes = read
    }
    problem = undefined
    const wasExposed = isExposed
    isExposed = process.platform !== 'win32' && (mode & 0o006) > 0
    if (isExposed && !wasExposed)
      warn(`Every user of this machine can read or change the keys in ${path}.`, 'keyring_exposed')
  }

  /** Leaves out the messages of other errors, which could quote the file. */
  const describe = (error: unknown): string =>
    `${path} ${error instanceof WebhookError ? error.message : `cannot be read: ${(error as NodeJS.ErrnoException).code}`}`

  function report(error: unknown): void {
    const found = describe(error)
    if (found !== problem) warn(`${found}. The last valid keys stay in use.`, 'keyring_invalid')
    problem = found
  }

  let reading: Promise<void> | undefined
  /** True if a read has not ended in time. Until it ends, no other one starts: each would occupy a thread. */
  let isLate = false

  /** Resolves in time, even if the read hangs. Until the read ends, `reading` is the resolved promise. */
  function reload(): Promise<void> {
    reading = new Promise((resolve) => {
      let due = monotonic() + MAX_WAIT
      let timer = setTimeout(function expire() {
        // If the process was suspended, or its event loop blocked, the read gets another chance.
        if (monotonic() - due > PAUSE) {
          due = Number.POSITIVE_INFINITY
          timer = setTimeout(expire, MAX_WAIT)
          return
        }
        isLate = true
        report(configInvalid(`cannot be read within ${MAX_WAIT / 1000} seconds`))
        resolve()
      }, MAX_WAIT)
      const end = (): void => {
        clearTimeout(timer)
        reading = undefined
        isLate = false
        resolve()
      }
      read(path).then(apply).catch(report).then(end)
    })
    return reading
  }

  let readAt = Number.NEGATIVE_INFINITY
  let renewing: Promise<Keyring> | undefined
  let renewedAt = Number.NEGATIVE_INFINITY

  async function renew(): Promise<Keyring> {
    const wait = renewedAt + MIN_INTERVAL - monotonic()
    await (wait > 0 && new Promise((resolve) => setTimeout(resolve, wait)))
    // A read in progress may have begun before the last of these requests arrived.
    while (reading && !isLate) await reading
    renewing = undefined // requests from here on need another read
    renewedAt = monotonic()
    if (!isLate) await reload()
    return keyring
  }

  const port: KeyringPort = {
    keys: () => keys,
    current(clock) {
      const now = clock()
      const age = now - readAt
      if (age >= 0 && age < MAX_AGE) return keyring
      return (reading ?? reload()).then(() => {
        readAt = now
        return keyring
      })
    },
    async renew() {
      if (isLate) return keyring
      renewing ??= renew()
      return renewing
    },
  }

  try {
    apply([requireFile(statSync(path)), readFileSync(path)])
  } catch (error) {
    throw configInvalid(describe(error))
  }
  return Object.assign({ path }, { [KEYRING_PORT]: port })
}

const read = async (path: string): Promise<[Stats, Buffer]> => [
  requireFile(await promises.stat(path)),
  await promises.readFile(path),
]

/** Reading another kind of file, such as a pipe, might never end. @throws {WebhookError} `config_invalid` */
function requireFile(stat: Stats): Stats {
  if (!stat.isFile()) throw configInvalid('is not a file')
  if (stat.size > MAX_SIZE) throw configInvalid('is larger than 1 MiB')
  return stat
}

/** @throws {WebhookError} `config_invalid` without a part of the file */
function readEntries(bytes: Buffer): Record<'id' | 'key', string>[] {
  const json = isUtf8(bytes) ? tryJson(bytes.toString().replace(/^\ufeff/, '')) : undefined
  const list = isObject(json) ? json.keys : undefined
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_KEYS)
    throw configInvalid(`must be JSON with 1 to ${MAX_KEYS} keys: {"keys":[{"id":"…","key":"…"}]}`)
  for (const [index, entry] of list.entries()) {
    const { id, key } = isObject(entry) ? entry : {}
    const invalid = (problem: string) => configInvalid(`is invalid: keys[${index}]${problem}`)
    if (typeof id !== 'string' || !/^[\w.:-]{1,100}$/.test(id))
      throw invalid('.id must be at most 100 letters, digits, _, -, . and :')
    if (typeof key !== 'string' || findKeyError([key], true))
      throw invalid('.key must be text that is not empty, without white space around it')
    if (list.findIndex((other) => other.id === id || other.key === key) < index)
      throw invalid(' has the id or the key of another one')
  }
  return list
}
