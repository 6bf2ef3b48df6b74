import type { DurableInbox } from '../../inbox/index.ts'
import { createReceiver, type StoredDelivery } from '../../index.ts'
import { count } from '../../shared/words.ts'
import { usageError } from '../errors.ts'
import { hasStore, type StoreOptions, withInbox } from '../io/store.ts'
import { type Io, printable } from '../terminal/io.ts'
import { matchedOf } from './receivers.ts'
import type { Rotation } from './rotation.ts'

/** A delivery that the compromised key verified, or may have verified. */
interface Verified {
  id: string
  receivedAt: Date
  service: string | undefined
  changeTypes: readonly string[]
  /** False if the key that verified it is unknown. */
  isCertain: boolean
}

/**
 * Prints what the removal of a key loses. With `--since`, also returns a function that lists what the key has verified, in
 * the inbox.
 */
export async function prepareList(
  io: Io,
  rotations: readonly Rotation[],
  options: StoreOptions & { since?: number },
): Promise<(() => Promise<Verified[]>) | undefined> {
  const { since } = options
  const print = (text: string): void => {
    if (!io.json) io.print(printable(text))
  }
  for (const { ring, journal } of rotations) {
    const { from, matchedAt, receivers } = journal
    print(
      `${ring.name}: the receivers will refuse retries and deliveries in flight that the key ${from} signed`,
    )
    for (const [instance, { last }] of Object.entries(receivers))
      print(
        `  the receiver ${instance} has verified ${count(matchedOf(last, from), 'delivery', 'deliveries')} with it`,
      )
    if (matchedAt) print(`  the last one at ${matchedAt}`)
  }
  if (since === undefined) return undefined
  if (!hasStore(io, options))
    throw usageError('--since requires an inbox', 'Give --store, --store-env or --store-file.')
  await withInbox(io, options, (inbox) => inbox.list({ limit: 1 })) // fails before anything is written
  const start = Date.now() - since
  const old = rotations.flatMap(({ ring, journal }) => ring.keys.filter(({ id }) => id === journal.from))
  const keys = old.map(({ key }) => key)
  return async () => {
    const verified = await withInbox(io, options, (inbox) => findVerified(inbox, keys, start))
    const certain = verified.filter(({ isCertain }) => isCertain).length
    const found = `${certain} verified with the old key, ${verified.length - certain} with an unknown key`
    print(`deliveries in the inbox since ${new Date(start).toISOString()}: ${found}`)
    for (const { id, receivedAt, service = '', changeTypes, isCertain } of verified)
      print(
        `  ${id}  ${receivedAt.toISOString()}  ${changeTypes.join()}  ${service}${isCertain ? '' : '  (key unknown)'}`,
      )
    return verified
  }
}

async function findVerified(
  inbox: DurableInbox,
  keys: readonly string[],
  start: number,
): Promise<Verified[]> {
  const found = new Map<string, Verified>()
  for (let after: string | undefined, isOver = false; !isOver; ) {
    const { entries, next } = await inbox.list({ order: 'newest', limit: 1_000, after })
    for (const { id, receivedAt, service, changeTypes } of entries) {
      if (receivedAt.getTime() < start || found.has(id)) continue
      const delivery = (await inbox.get(id))?.delivery
      const verdict = delivery && (await isVerified(delivery, keys))
      if (verdict !== false)
        found.set(id, { id, receivedAt, service, changeTypes, isCertain: verdict === true })
    }
    after = next
    isOver = next === undefined || entries.some(({ receivedAt }) => receivedAt.getTime() < start)
  }
  return [...found.values()]
}

/** Verifies a stored delivery again. @returns undefined if that is not possible, for example with another profile */
async function isVerified(delivery: StoredDelivery, keys: readonly string[]): Promise<boolean | undefined> {
  const { profile, contentType, headers, rawBody } = delivery
  // No key has verified what `geohook/changes` has caught up on.
  if (profile === 'caught_up') return false
  if ((profile !== 'service' && profile !== 'arcgis') || keys.length === 0) return undefined
  let code: string | undefined
  const receiver = createReceiver({
    profile,
    signatureKey: keys,
    limit: rawBody.length + 1,
    observer: {
      refused({ error }) {
        code = error.code
      },
    },
  }).on('*', () => {})
  const signed = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || /^(?:content-(?:length|type)|transfer-encoding|host)$/.test(name)
      ? []
      : [[name, String(value)]],
  )
  const request = new Request('http://inbox/', {
    method: 'POST',
    headers: [...signed, ['content-type', contentType]] as [string, string][],
    body: Uint8Array.from(rawBody),
  })
  const { ok } = await receiver.fetch(request)
  return ok || (code === 'signature_mismatch' ? false : undefined)
}
