import type { Admin, DeliverySettings, Webhook } from '../../admin/index.ts'
import { count } from '../../shared/words.ts'
import { failure } from '../errors.ts'
import { type Io, printable } from '../terminal/io.ts'
import type { Connection } from './connect.ts'
import { orUndefined } from './examine.ts'
import { findHandshakeProblem } from './probe.ts'
import type { Receivers } from './receivers.ts'
import type { Journal, Ring, RingKey } from './ring-file.ts'
import { failuresInRow } from './verdicts.ts'
import { toList, webhooksOf } from './webhooks.ts'

const HOUR = 3_600_000
const SETTLE = 60_000
/** Maximum number of keys in a keyring. */
const MAX_KEYS = 100

/** What all rotations of a run share. */
export interface RotationContext {
  io: Io
  admin: Admin
  connection: Connection
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
  /** Undefined without `--health`. */
  receivers: Receivers | undefined
  /** Milliseconds after which every receiver has read the keyring, if given. Used without `--health`. */
  settle: number | undefined
  acceptHandshakeGap?: boolean | undefined
  compromised?: boolean | undefined
}

/** How a webhook gets the new key. */
const WAYS = {
  edit: 'an edit of the key',
  url: 'an edit of the payload URL and the key, together',
  gap: 'an edit of the key; a handshake that arrives before the edit can fail',
}

type Way = keyof typeof WAYS

/**
 * Checks the keyring and the webhooks before a rotation. Writes nothing.
 *
 * @returns also a line about each webhook: how it will get the new key
 * @throws {CliError} exit code 1 if deliveries could be lost or refused, or if a rotation is open
 */
export async function planRotation(
  context: RotationContext,
  ring: Ring,
  wanted: readonly { service: string; webhook: string | Webhook }[],
): Promise<{ journal: Journal; lines: string[] }> {
  const { admin, receivers, compromised } = context
  if (ring.journal)
    throw failure(
      'rotation_open',
      `a rotation of ${ring.name} is open, in the state ${ring.journal.state}`,
      `Finish it with ${ring.journal.isStepwise ? '--step' : '--continue'}, or go back with --back.`,
    )
  const [first] = ring.keys as readonly [RingKey]
  const journal: Journal = {
    url: admin.url,
    product: admin.product,
    state: 'add',
    since: '',
    from: first.id,
    to: newId(ring.keys),
    isBack: false,
    webhooks: [],
    settle: context.settle ?? SETTLE,
    expected: receivers?.number ?? 1,
    drain: HOUR,
    receivers: {},
    ...(compromised && { compromised }),
    ...(context.acceptHandshakeGap && { acceptsGap: true }),
  }
  if (ring.keys.length >= MAX_KEYS)
    throw failure('rotation_refused', `${ring.name} has ${MAX_KEYS} keys already`)
  const seen = (await receivers?.look(ring.keys, journal)) ?? []
  if (receivers && seen.length < receivers.number && !compromised)
    throw failure(
      'health_failed',
      [
        `the address in --health returned the stats() of ${count(seen.length, 'receiver')} with the keyring ${ring.name}`,
        ...(receivers.trouble ? [receivers.trouble] : []),
      ].join('; '),
      'Check the address, its token, --receivers, and that the receivers use the same keyring.',
    )
  const lines: string[] = []
  for (const { service, webhook: named } of wanted) {
    const webhook = await webhooksOf(admin, service).get(named)
    if (journal.webhooks.some((one) => one.service === service && one.id === webhook.id)) continue
    const way = wayOf(webhook, journal)
    await requireReady(context, service, webhook, first, way)
    journal.drain = Math.max(journal.drain, await readSpan(admin, service))
    journal.webhooks.push({ service, id: webhook.id, name: webhook.name })
    lines.push(`${service}, ${webhook.name} (${webhook.id}): ${WAYS[way]}`)
  }
  for (const service of new Set(wanted.map((one) => one.service))) {
    const other = await findOther(admin, service, journal.webhooks, first)
    if (other)
      throw failure(
        'rotation_refused',
        `${service}, ${other.name} also has the first key of the keyring; nothing was written`,
        'Rotate all webhooks of the keyring together: name them, or give --all or --from.',
      )
  }
  return { journal, lines }
}

/** Returns the date in UTC, with a number if a key has this id. */
function newId(keys: readonly RingKey[]): string {
  const date = new Date().toISOString().slice(0, 10)
  let id = date
  for (let number = 2; keys.some((key) => key.id === id); number++) id = `${date}-${number}`
  return id
}

/** The last segment of the path of a payload URL, which may be the id of a key. */
const SEGMENT = /^(\w+:\/\/[^?#]*\/)([^/?#]*)/

export const withId = (hookUrl = '', id: string): string =>
  hookUrl.replace(SEGMENT, (_, start: string) => start + id)

const idOf = (hookUrl = ''): string | undefined => SEGMENT.exec(hookUrl)?.[2]

/** Only ArcGIS Online sends handshakes. */
export function wayOf({ product, hookUrl }: Webhook, { from, to }: Journal): Way {
  if (product !== 'online') return 'edit'
  return [from, to].includes(idOf(hookUrl) ?? '') ? 'url' : 'gap'
}

/** @throws {CliError} exit code 1 if deliveries could be lost or refused */
async function requireReady(
  context: RotationContext,
  service: string,
  webhook: Webhook,
  first: RingKey,
  way: Way,
): Promise<void> {
  const { admin, receivers, acceptHandshakeGap, compromised } = context
  const { key, active, product, modified, hookUrl, name } = webhook
  const refuse = (problem: string, hint = ''): never => {
    throw failure('rotation_refused', `${service}, ${name} ${problem}; nothing was written`, hint)
  }
  if (active === undefined) refuse('does not show whether it is active, so an edit could deactivate it')
  if (!active)
    refuse(
      'is not active',
      'Activate it first. If you leave it out, give it the new key before you activate it.',
    )
  if (key === '')
    refuse('has no key', 'Give it the first key of the keyring, with "geohook edit" and --key-file.')
  if (key !== undefined && key !== first.key)
    refuse('does not have the first key of the keyring', 'Make its key the first one.')
  if (compromised) return
  if (key === undefined && !receivers)
    refuse('does not show its key, so only a receiver can prove that it uses the new one', 'Give --health.')
  const deliveries = await orUndefined(() => webhooksOf(admin, service).failures(webhook))
  const last = failuresInRow(deliveries).at(-1)?.at
  // Only a portal lists successes.
  const isOver =
    last && product !== 'portal' && (Number(modified) > Number(last) || Number(last) < Date.now() - HOUR)
  if (last && !isOver)
    refuse(
      `has a failed delivery, at ${last.toISOString()}`,
      'Repair the receiver first: "geohook doctor" helps.',
    )
  if (way === 'gap' && !acceptHandshakeGap)
    refuse(
      'gets handshakes, and one that arrives between the change of the file and the edit would fail',
      `Let its payload URL end with the id of its key, /${first.id} (docs/rotation.md), or give --accept-handshake-gap.`,
    )
  if (product === 'service' && idOf(hookUrl) === first.id && !acceptHandshakeGap)
    refuse(
      'has a payload URL that ends with the id of its key, but --url was not recognized as ArcGIS Online',
      'Give --product online; or --accept-handshake-gap, if the service makes no handshakes.',
    )
  if (way !== 'edit') await requireHandshake(context, `${service}, ${name}`, hookUrl, first.key)
}

/** Finds an active webhook with a key, except those of the rotation: its deliveries would be refused after the removal. */
export async function findOther(
  admin: Admin,
  service: string,
  named: Journal['webhooks'],
  wanted: RingKey,
): Promise<Webhook | undefined> {
  const all = await toList(webhooksOf(admin, service).list())
  const isNamed = (id: string): boolean => named.some((one) => one.service === service && one.id === id)
  return all.find(({ id, key, active }) => key === wanted.key && active !== false && !isNamed(id))
}

/** @throws {CliError} exit code 1 if a payload URL does not respond to a handshake with this key */
export async function requireHandshake(
  { io, connection, acceptHandshakeGap, compromised }: RotationContext,
  who: string,
  hookUrl = '',
  key: string,
): Promise<void> {
  const isShown = URL.canParse(hookUrl)
  const problem = isShown && (await findHandshakeProblem(new URL(hookUrl), [key], connection.fetch))
  if (problem === undefined) return
  const text = isShown
    ? `seen from this machine, its payload URL ${problem}`
    : 'the service does not show its payload URL, so its handshake was not tried'
  if (acceptHandshakeGap || compromised) return io.json ? undefined : io.note(printable(`${who}: ${text}`))
  throw failure(
    'handshake_failed',
    `${who}: ${text}`,
    'Let the receiver answer handshakes at this path, or give --accept-handshake-gap.',
  )
}

/** Milliseconds from the first to the last attempt of a delivery; of unknown settings, the maximum (docs/senders.md). */
async function readSpan(admin: Admin, service: string): Promise<number> {
  const isOwn = (service === 'portal') === (admin.product === 'portal')
  const settings: DeliverySettings = isOwn ? await admin.settings().catch(() => ({})) : {}
  const {
    attempts = 5,
    timeoutInSeconds = 60,
    pauseInSeconds = admin.product === 'online' && service !== 'portal' ? 10 : 3600,
  } = settings
  return 1000 * (attempts * timeoutInSeconds + (attempts - 1) * pauseInSeconds)
}
