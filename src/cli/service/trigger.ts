import type { Command } from 'commander'
import type { Admin } from '../../admin/index.ts'
import { nearest } from '../../options.ts'
import {
  FEATURE_CHANGE_TYPES,
  JOB_CHANGE_TYPES,
  KNOWN_CHANGE_TYPES,
  subscriptionsOf,
} from '../../payload/events.ts'
import { DELIVERY_FAULTS, EXTRACTION_FAULTS, type FaultName } from '../../shared/faults.ts'
import { isSuccess } from '../../shared/status.ts'
import { CliError, EXIT, usageError } from '../errors.ts'
import { toRecord } from '../io/files.ts'
import { CliCommand } from '../options/command.ts'
import { duration, listOf, wholeNumber } from '../options/values.ts'
import { type Io, toPrintable } from '../terminal/io.ts'
import {
  addClientOptions,
  type ClientOptions,
  notAService,
  type ServiceClient,
  type ServicePath,
  type ServiceResponse,
  servicePath,
  withClient,
} from './client.ts'
import { withAdmin } from './connect.ts'
import { toList } from './webhooks.ts'

interface Options extends ClientOptions {
  jobId?: string
  taskName?: string
  layer?: number[]
  fault?: FaultName
  delay?: number
  wait: boolean
  any?: true
}

export function createTriggerCommand(io: Io): Command {
  return new CliCommand('trigger')
    .summary('trigger an event on a mock service')
    .description(
      'Triggers events on a service of a running mock, and waits for the responses of its webhooks. ' +
        'The exit code is 0 if every delivery finally received a 2xx response, otherwise 1; ' +
        '4 if no webhook is subscribed to the events, and 5 if the subscribed webhooks are inactive.',
    )
    .argument('<service>', 'for example Parcels.FeatureServer', servicePath)
    .argument(
      '<changeTypes...>',
      'change types of the events, for example FeaturesCreated or esriJobSucceeded',
    )
    .option('--job-id <id>', 'geoprocessing: id of the finished job')
    .option('--task-name <name>', 'geoprocessing: task of the job')
    .option('--layer <n>', 'layer of the event; repeatable', listOf(wholeNumber(0, 1_000_000)))
    .choice(
      '--fault <name>',
      'fault to inject once: into the next delivery, or into the change extraction that follows it',
      Object.keys({ ...DELIVERY_FAULTS, ...EXTRACTION_FAULTS }),
    )
    .option('--delay <ms>', 'with --fault: its delay in milliseconds', wholeNumber(0, 86_400_000))
    .option('--no-wait', 'do not wait for deliveries')
    .option('--any', 'allow change types that are not listed below')
    .with(addClientOptions)
    .examples(
      'geohook trigger Parcels.FeatureServer FeaturesCreated',
      'geohook trigger Analysis.GPServer esriJobSucceeded --job-id j42',
      'geohook trigger Parcels.FeatureServer FeaturesCreated --fault delayed --delay 2000',
    )
    .addHelpText(
      'after',
      [
        'Change types of a feature service:',
        ...FEATURE_CHANGE_TYPES.map((name) => `  ${name}`),
        '',
        'Change types of a geoprocessing service, for the end of a job:',
        ...JOB_CHANGE_TYPES.map((name) => `  ${name}`),
      ].join('\n'),
    )
    .action(async (service: ServicePath, changeTypes: string[], options: Options) => {
      const { jobId, taskName, layer: layerIds, wait } = options
      if (options.delay !== undefined && !options.fault) throw usageError('--delay requires --fault')
      if (!options.any) requireKnown(changeTypes)
      const events = changeTypes.map((changeType) => ({ ...service, changeType, jobId, taskName, layerIds }))
      const trigger = async (client: ServiceClient) => {
        const response = await withFault(client, options, { events, wait })
        if (!Array.isArray(response.deliveries)) throw notAService('the response has no deliveries')
        const attempts = response.deliveries.map(toAttempt)
        const notSent = Array.isArray(response.notSent) ? response.notSent.map(toStopped) : []
        if (attempts.length === 0 && notSent.length === 0)
          await requireSent(io, options, service, changeTypes)
        return { attempts, ...(notSent.length > 0 ? { notSent } : {}) }
      }
      const result = await withClient(io, options, trigger, 'waiting for the responses')
      const { attempts, notSent = [] } = result
      io.printResult(result, () => {
        printAttempts(io, attempts, wait)
        for (const { webhookId, reason } of notSent)
          io.print(`not sent to ${toPrintable(webhookId)}: its handshake failed: ${toPrintable(reason)}`)
      })
      if ((wait && attempts.length === 0) || notSent.length > 0 || !areAllDelivered(attempts))
        io.exitCode = EXIT.failure
    })
}

/** @throws {CliError} exit code 2 for a change type that is not known, because a misspelt one reaches no webhook */
function requireKnown(changeTypes: readonly string[]): void {
  const unknown = changeTypes.find((name) => !KNOWN_CHANGE_TYPES.includes(name))
  if (unknown === undefined) return
  const meant = nearest(unknown, KNOWN_CHANGE_TYPES)
  throw usageError(
    `unknown change type${meant ? `: did you mean ${meant}?` : ''}`,
    'Add --help to see the change types, or --any to trigger another one.',
    'change_type_unknown',
  )
}

/** Triggers events after injecting the fault once. Removes the fault if no delivery was sent. */
async function withFault(
  client: ServiceClient,
  { fault, delay, wait }: Options,
  events: object,
): Promise<ServiceResponse> {
  const trigger = () => client.postJson('/_mock/trigger', events)
  if (!fault) return trigger()
  const { id } = await client.postJson('/_mock/faults', { fault, delay, times: 1 })
  let isUsed = false
  try {
    const response = await trigger()
    // With --no-wait, the delivery may still be pending, so the fault must not be removed.
    isUsed = !wait || (Array.isArray(response.deliveries) && response.deliveries.length > 0)
    return response
  } finally {
    // Ignores errors: they must not hide an error of the trigger, and the fault may no longer exist.
    if (!isUsed) await client.delete(`/_mock/faults/${encodeURIComponent(String(id))}`).catch(() => {})
  }
}

/** Converts an attempt in a response to the format of `--json`. */
function toAttempt(value: unknown) {
  const attempt = toRecord(value) ?? {}
  const { id, deliveryId = id, webhookId, number = 1, hookUrl, answer, error, milliseconds = 0 } = attempt
  const status = toRecord(answer)?.status
  return {
    deliveryId: String(deliveryId),
    webhookId: String(webhookId),
    number: Number(number),
    hookUrl: String(hookUrl),
    milliseconds: Number(milliseconds),
    ...(typeof status === 'number' ? { status } : {}),
    ...(typeof error === 'string' ? { error } : {}),
  }
}

type Attempt = ReturnType<typeof toAttempt>

function toStopped(value: unknown) {
  const { webhookId, reason } = toRecord(value) ?? {}
  return { webhookId: String(webhookId), reason: String(reason) }
}

/** Returns true if at least one attempt of each delivery succeeded. */
function areAllDelivered(attempts: readonly Attempt[]): boolean {
  const succeeded = attempts.filter(({ status }) => isSuccess(status)).map(({ deliveryId }) => deliveryId)
  const ids = new Set(succeeded)
  return attempts.every(({ deliveryId }) => ids.has(deliveryId))
}

function printAttempts(io: Io, attempts: readonly Attempt[], wait: boolean): void {
  if (!wait) io.print('triggered')
  else if (attempts.length === 0) io.print('no delivery was sent')
  for (const { status, number, hookUrl, error, milliseconds } of attempts) {
    const time = `${Math.round(milliseconds)} ms`
    const cells = [io.toStatus(status), `attempt ${number}`, toPrintable(hookUrl), time, toPrintable(error)]
    io.print(cells.filter((cell) => cell !== '').join('  '))
  }
}

/**
 * Finds out why events caused no delivery. Returns if an active webhook is subscribed: it may have been edited since.
 *
 * @throws {CliError} exit code 4 if no webhook is subscribed, 5 if the subscribed ones are inactive
 */
async function requireSent(
  io: Io,
  options: Options,
  service: ServicePath,
  changeTypes: readonly string[],
): Promise<void> {
  const { folderName, serviceName, serviceType } = service
  const name = `${folderName ? `${folderName}/` : ''}${serviceName}.${serviceType}`
  const list = (admin: Admin) => toList(admin.service(name).list())
  const webhooks = await withAdmin(io, { ...options, product: 'service' }, list).catch((error: CliError) => {
    // A client may be allowed to trigger events, but not to list the webhooks.
    if (/^admin_(?:unauthorized|forbidden)$/.test(error.code)) return undefined
    throw error
  })
  const subscriptions = new Set(changeTypes.flatMap(subscriptionsOf))
  const subscribed = webhooks?.filter((webhook) =>
    webhook.changeTypes?.some((name) => subscriptions.has(name)),
  )
  if (!subscribed?.length) {
    const [subject, fix] = webhooks
      ? ['no webhook', '"geohook create" creates one, "geohook edit --change-types" changes one.']
      : ['no active webhook', 'Give a token with --token-file or --token-env to see inactive ones too.']
    throw new CliError(EXIT.noSubscription, 'not_subscribed', `${subject} is subscribed to this event`, fix)
  }
  if (subscribed.some(({ active }) => active !== false)) return
  const names = subscribed.map(({ name, id }) => name || id).join(', ')
  throw new CliError(
    EXIT.inactive,
    'inactive',
    `all webhooks that are subscribed to this event are inactive: ${names}`,
    '"geohook activate" activates a webhook.',
  )
}

export function createAdvanceCommand(io: Io): Command {
  return new CliCommand('advance')
    .summary('advance the clock of a mock service')
    .description(
      'Advances the clock of a running mock: its windows close, and its retries and handshakes are made, as if the ' +
        'time had passed. Prints the time that the clock then shows.',
    )
    .argument('<duration>', 'for example 90s, 15m, 12h or 7d', duration)
    .with(addClientOptions)
    .examples('geohook advance 1h', 'geohook advance 30s --url http://127.0.0.1:4001')
    .action(async (advance: number, options: ClientOptions) => {
      const post = (client: ServiceClient) => client.postJson('/_mock/clock', { advance })
      const { now } = await withClient(io, options, post, 'waiting for deliveries')
      if (typeof now !== 'number' || Number.isNaN(new Date(now).getTime()))
        throw notAService('the response has no time')
      io.printResult({ now }, new Date(now).toISOString())
    })
}
