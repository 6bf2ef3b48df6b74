import { realpath } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Admin, Webhook, WebhookFile } from '../../admin/index.ts'
import { wait } from '../../shared/client.ts'
import { isObject } from '../../shared/json.ts'
import { shellQuote } from '../../shared/words.ts'
import { EXIT, failure, usageError } from '../errors.ts'
import { readJson } from '../io/files.ts'
import { addStoreAddressOptions, type StoreOptions } from '../io/store.ts'
import { CliCommand, requireOthers } from '../options/command.ts'
import { duration } from '../options/values.ts'
import { type Io, printable } from '../terminal/io.ts'
import { type AdminCliOptions, addAdminOptions, type Connection, toAdminError, withAdmin } from './connect.ts'
import { addHealthOptions, createReceivers, type HealthOptions, sumUp } from './receivers.ts'
import { openRing, type Ring, STATES, type State } from './ring-file.ts'
import { Rotation, type Waiting } from './rotation.ts'
import { planRotation, type RotationContext } from './rotation-check.ts'
import { prepareList } from './verified.ts'
import { place, toList, webhooksOf } from './webhooks.ts'

type Step = 'add' | 'switch' | 'remove'

interface RotateOptions extends AdminCliOptions, HealthOptions, StoreOptions {
  keyring?: string
  all?: true
  from?: string
  continue?: true
  back?: true
  dryRun?: true
  step?: Step
  settle?: number
  wait?: number
  acceptHandshakeGap?: true
  compromised?: true
  since?: number
}

/** The last state of each step. */
const LAST: Readonly<Record<Step, State>> = { add: 'add', switch: 'prove', remove: 'remove' }
const STEPS = Object.keys(LAST) as Step[]

/** Milliseconds between two checks of what a rotation waits for. */
const PAUSE = 5_000

export function createRotateCommand(io: Io): Command {
  return new CliCommand('rotate')
    .summary('replace the key of webhooks, without losing or refusing a delivery')
    .description(
      'Adds a new key to the file of a keyring, gives it to the webhooks, and removes the old key when no delivery ' +
        'needs it any more. Both keys are accepted until then. A journal next to the file makes it possible to ' +
        'continue after every stop, and to go back. The exit code is 4 if the rotation has to wait longer than --wait.',
    )
    .argument('[service]', 'for example Parcels.FeatureServer, or portal', place)
    .argument('[webhooks...]', 'ids or names of the webhooks that use the keyring')
    .option('--keyring <file>', 'file of the keyring that the receivers use')
    .option('--all', 'rotate the key of all webhooks of the service')
    .option('--from <file>', 'rotate all keyrings of a file with webhooks, or the one in --keyring')
    .option('--continue', 'continue the open rotation of the keyring')
    .option('--back', 'end the open rotation with the old key')
    .option('--dry-run', 'check everything, print what would be done, and change nothing')
    .choice('--step <name>', 'do only this step: for receivers that do not read this file', STEPS)
    .with(addHealthOptions)
    .option(
      '--settle <time>',
      'without --health: time until every receiver has read the keyring (default: 60s)',
      duration,
    )
    .option('--wait <time>', 'maximum time to wait, for example 2h (default: 10m)', duration)
    .option('--accept-handshake-gap', 'rotate although a handshake can fail during the edit')
    .option('--compromised', 'remove the old key at once, although deliveries can then be refused')
    .option('--since <time>', 'with --compromised: list what the old key verified, for example 7d', duration)
    .with(addStoreAddressOptions)
    .with(addAdminOptions)
    .examples(
      "geohook rotate Parcels.FeatureServer 'parcel edits' --keyring keys.json",
      'geohook rotate --from webhooks.json --dry-run',
      'geohook rotate --continue --keyring keys.json --wait 2h',
    )
    .action(async (service: string | undefined, names: string[], options: RotateOptions) => {
      const isNew = requireUsage(service, names, options)
      await withAdmin(io, options, async (admin, connection) => {
        connection.progress.stop()
        const targets = await findTargets(io, admin, isNew, service, names, options)
        const rings: Ring[] = []
        try {
          for (const name of targets.keys()) rings.push(await openRing(io, name))
          await rotate(io, admin, connection, isNew ? { rings, targets } : { rings }, options)
        } finally {
          for (const ring of rings) await ring.release()
        }
      })
    })
}

/** @returns whether a rotation begins @throws {CliError} exit code 2 */
function requireUsage(
  service: string | undefined,
  names: readonly string[],
  options: RotateOptions,
): boolean {
  const { keyring, all, from, step, dryRun, compromised, back } = options
  requireOthers(options, [['since', 'compromised']])
  const modes = [options.continue && 'continue', back && 'back', step && step !== 'add' && 'step'].filter(
    Boolean,
  )
  const isNew = modes.length === 0
  if (back && (options.continue || step)) throw usageError('--back cannot be used with --continue or --step')
  if (step && compromised) throw usageError('--step cannot be used with --compromised')
  if (back && compromised)
    throw usageError('--back would keep the compromised key', 'Use --continue with --compromised.')
  if (from === undefined && keyring === undefined)
    throw usageError('give --keyring or --from', 'The keyring is the file that the receivers read.')
  if (isNew && from === undefined && (service === undefined || names.length > 0 === (all === true)))
    throw usageError('give a service, and either webhooks or --all', '"geohook list" shows the webhooks.')
  if ((!isNew || from !== undefined) && (service !== undefined || all))
    throw usageError(
      `${isNew ? 'the file in --from' : 'the open rotation'} already names the webhooks`,
      'Leave out the service, the webhooks and --all.',
    )
  if (!isNew && dryRun) throw usageError('--dry-run is only for a rotation that has not begun')
  return isNew
}

type Targets = Map<string, { service: string; webhook: string | Webhook }[]>

/** Returns the webhooks of each keyring, by the path of its file. @throws {CliError} */
async function findTargets(
  io: Io,
  admin: Admin,
  isNew: boolean,
  service: string | undefined,
  names: readonly string[],
  { keyring, from, all }: RotateOptions,
): Promise<Targets> {
  const targets: Targets = new Map()
  if (from === undefined) {
    const webhooks =
      service === undefined ? [] : all ? await toList(webhooksOf(admin, service).list()) : names
    if (all && webhooks.length === 0) throw failure('admin_not_found', `${service} has no webhooks`)
    return targets.set(
      keyring ?? '',
      webhooks.map((webhook) => ({ service: service ?? '', webhook })),
    )
  }
  const { readWebhookFile } = await import('../../admin/index.ts')
  // Other members may have variables that only "apply" needs.
  const file = onlyKeys(await readJson(io, from))
  for (const [name, webhooks] of Object.entries(readWebhookFile(admin, file, io.host.env).services)) {
    let listed: Webhook[] | undefined
    for (const { key, name: title, was = title } of webhooks) {
      if (!key || !('keyring' in key)) continue
      const path = await toReal(resolve(from === '-' ? '.' : dirname(from), key.keyring))
      if (keyring !== undefined && (await toReal(resolve(keyring))) !== path) continue
      const found = targets.get(path) ?? []
      targets.set(path, found)
      if (!isNew) continue
      listed ??= await toList(webhooksOf(admin, name).list())
      const webhook = listed.find((one) => one.name === title) ?? listed.find((one) => one.name === was)
      if (!webhook)
        throw failure('admin_not_found', `${name} has no webhook ${title}`, 'Apply the file first.')
      found.push({ service: name, webhook })
    }
  }
  if (targets.size === 0)
    throw usageError(`${from} refers to no such keyring`, 'It is a key like {"keyring":"keys.json"}.')
  return targets
}

/** Keeps the members that a rotation needs. */
function onlyKeys(file: unknown): WebhookFile {
  const services = isObject(file) && file.services
  if (!isObject(services)) return file as WebhookFile
  const lists = Object.entries(services).map(([name, webhooks]) => {
    const isList = Array.isArray(webhooks) && webhooks.every(isObject)
    return [name, isList ? webhooks.map(({ name, was, key }) => ({ name, was, key })) : webhooks]
  })
  return { ...(file as object), services: Object.fromEntries(lists) } as WebhookFile
}

/** Two paths of one file are one keyring. */
const toReal = (path: string): Promise<string> => realpath(path).catch(() => path)

async function rotate(
  io: Io,
  admin: Admin,
  connection: Connection,
  { rings, targets }: { rings: readonly Ring[]; targets?: Targets },
  options: RotateOptions,
): Promise<void> {
  const { settle, acceptHandshakeGap, compromised, dryRun, back, step } = options
  const { signal } = io.host
  const receivers = await createReceivers(io, options, connection, signal, rings[0]?.journal?.expected)
  if (receivers && rings.length > 1)
    throw usageError('--health belongs to one keyring, but there are several', 'Also give --keyring.')
  const shared = { io, admin, connection, signal, receivers }
  const context: RotationContext = { ...shared, settle, acceptHandshakeGap, compromised }
  // A step that was killed can be repeated.
  const isRepeated = step === 'add' && rings.every((ring) => isSame(ring, targets?.get(ring.name) ?? []))
  const isNew = targets !== undefined && !isRepeated
  const rotations = isNew ? await plan(context, rings, targets) : continueAll(context, rings, options)
  if (dryRun) return io.printResult({ rotations: rotations.map(toResult) }, 'nothing was written')
  const list = compromised && (await prepareList(io, rotations, options))
  if (signal.aborted) io.exitCode = EXIT.stopped
  if (signal.aborted) return
  if (isNew) {
    // Writing the same keys shows that each file can be replaced, before anything changes.
    for (const ring of rings) await ring.write()
    for (const rotation of rotations) {
      if (step) rotation.journal.isStepwise = true
      await rotation.enter('add')
    }
  }
  if (back) for (const rotation of rotations) await rotation.goBack()
  await drive(context, rotations, options)
  const verified = list && (await list())
  io.printResult({ rotations: rotations.map(toResult), ...(verified && { verified }) }, () => {})
  for (const { error } of rotations) {
    if (error === undefined) continue
    const problem = toAdminError(error, connection.failure())
    io.printError(problem)
    io.exitCode = problem.exitCode
  }
}

async function plan(context: RotationContext, rings: readonly Ring[], targets: Targets): Promise<Rotation[]> {
  const { io } = context
  const rotations: Rotation[] = []
  for (const ring of rings) {
    const { journal, lines } = await planRotation(context, ring, targets.get(ring.name) ?? [])
    rotations.push(new Rotation(context, ring, journal))
    const { from, to } = journal
    if (!io.json)
      io.print([`${ring.name}: replaces the key ${from} with ${to}`, ...lines].map(printable).join('\n  '))
  }
  return rotations
}

/** @throws {CliError} exit code 1 if no rotation is open or a step is left out, 2 if it is of another site */
function continueAll(
  context: RotationContext,
  rings: readonly Ring[],
  { step, back }: RotateOptions,
): Rotation[] {
  const rotations = rings.flatMap((ring) => (ring.journal ? new Rotation(context, ring, ring.journal) : []))
  if (rotations.length === 0)
    throw failure(
      'rotation_missing',
      'no rotation of the keyring is open',
      'Name webhooks, or give --all or --from.',
    )
  const { url, product } = context.admin
  const other = rotations.find(({ journal }) => journal.url !== url || journal.product !== product)
  if (other)
    throw usageError(
      `the rotation belongs to ${other.journal.url} (${other.journal.product}), not to ${url} (${product})`,
      'Give the same --url and --product.',
    )
  for (const rotation of rotations) {
    const { ring, journal } = rotation
    const next = nextStep(rotation)
    if (context.compromised && journal.isBack)
      throw usageError(
        `${ring.name}: the rotation goes back to the compromised key`,
        'End it, and rotate again.',
      )
    if (
      step ? STEPS.indexOf(step) > STEPS.indexOf(next) : journal.isStepwise && !back && !context.compromised
    )
      throw failure(
        'rotation_early',
        `${ring.name}: the receivers may not have the file of the last step yet`,
        `When they have it, run --step ${next}.`,
      )
  }
  for (const { name, journal } of rings)
    if (!journal && !context.io.json) context.io.note(printable(`${name}: no rotation is open`))
  const hadHealth = rotations.some(({ journal }) => Object.keys(journal.receivers).length > 0)
  if (hadHealth && !context.receivers && !context.compromised)
    throw usageError('the rotation began with --health', 'Give it again, with its token.')
  return rotations
}

/** True if a step of the same webhooks has begun, and not ended. */
const isSame = (
  { journal }: Ring,
  wanted: readonly { service: string; webhook: string | Webhook }[],
): boolean =>
  journal?.state === 'add' &&
  journal.isStepwise === true &&
  journal.webhooks.length === wanted.length &&
  wanted.every(({ service, webhook }) => {
    const idOrName = typeof webhook === 'string' ? webhook : webhook.id
    return journal.webhooks.some((one) => one.service === service && [one.id, one.name].includes(idOrName))
  })

/** Returns the next step of a rotation. */
function nextStep({ ring, journal: { state, to } }: Rotation): Step {
  if (!ring.keys.some(({ id }) => id === to)) return 'add'
  return STATES.indexOf(state) <= STATES.indexOf('switch') ? 'switch' : 'remove'
}

/** Runs the rotations until each has ended, or has to wait longer than `--wait`. */
async function drive(
  { io, signal, receivers }: RotationContext,
  rotations: readonly Rotation[],
  { step = 'remove', wait: longest = 600_000 }: RotateOptions,
): Promise<void> {
  const end = performance.now() + io.wait(longest)
  const isOpen = ({ isDone, error }: Rotation): boolean => !isDone && error === undefined
  const notes = new Map<Rotation, string>()
  for (let open = rotations.filter(isOpen); ; ) {
    receivers?.renew()
    for (const rotation of open) await rotation.run(LAST[step])
    open = open.filter(isOpen)
    if (signal.aborted) break
    for (const rotation of open) {
      const { what, until } = rotation.waiting as Waiting
      const end = until ? `, until ${until.toISOString()}` : ''
      if (notes.get(rotation) !== what && !io.json)
        io.note(printable(`${rotation.ring.name}: waiting for ${what}${end}`))
      notes.set(rotation, what)
    }
    const rest = end - performance.now()
    // No time comes earlier than it was announced.
    const isTooLong = open.every(({ waiting }) => Number(waiting?.until) > Date.now() + rest)
    if (open.length === 0 || rest <= 0 || isTooLong) break
    await wait(Math.min(io.wait(PAUSE), rest), signal).catch(() => {})
  }
  if (rotations.some(isOpen)) io.exitCode = signal.aborted ? EXIT.stopped : EXIT.pending
  for (const rotation of rotations) {
    const { ring, journal, isDone } = rotation
    if (isDone) continue
    // Keeps the counts of the receivers. On a full disk, the journal of the state is enough.
    await ring.save(journal).catch(() => {})
    const { state, from, to, isStepwise } = journal
    const detail =
      state === 'drain' ? `: all webhooks have the key ${to}, and only the removal of ${from} is left` : ''
    const next = isStepwise ? `--step ${nextStep(rotation)}` : '--continue'
    const command = shellQuote(ring.name)
    if (!io.json)
      io.note(
        printable(`${ring.name}: open in the state ${state}${detail}; no key has been removed`) +
          `\n  geohook rotate ${next} --keyring ${printable(command)}  (and the options for the service and --health)`,
      )
  }
  if (io.json) return
  for (const rotation of rotations)
    if (rotation.isDone) io.print(printable(`${rotation.ring.name}: ${AFTER[step]}`))
}

const AFTER: Readonly<Record<Step, string>> = {
  add: 'now store this file where the receivers read it. When each of them has it, run --step switch.',
  switch:
    'now store this file where the receivers read it: the first key answers handshakes. Then run --step remove.',
  remove: 'done. If the receivers read a copy, replace it now.',
}

function toResult({ ring, journal, isDone, waiting }: Rotation): object {
  const { state, from, to, isBack, webhooks } = journal
  return { keyring: ring.name, state, isDone, isBack, from, to, webhooks, waiting, ...sumUp(journal) }
}
