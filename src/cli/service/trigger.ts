import type { Command } from 'commander'
import type { FaultName } from '../../mock/index.ts'
import { nearest } from '../../options.ts'
import {
  FEATURE_CHANGE_TYPES,
  JOB_CHANGE_TYPES,
  KNOWN_CHANGE_TYPES,
  subscriptionsOf,
} from '../../payload/events.ts'
import { isSuccess } from '../../shared/status.ts'
import { CliError, EXIT, usageError } from '../errors.ts'
import { toRecord } from '../io/files.ts'
import { CliCommand } from '../options/command.ts'
import { wholeNumber } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'
import {
  addClientOptions,
  type ClientOptions,
  createClient,
  notAService,
  type ServiceClient,
  type ServiceResponse,
} from './client.ts'
import { type ListedWebhook, listWebhooks, type ServicePath, servicePath, toPrintable } from './webhooks.ts'

interface Options extends ClientOptions {
  jobId?: string
  taskName?: string
  layer?: number[]
  fault?: FaultName
  delay?: number
  wait: boolean
  any?: true
}

/** A delivery attempt, as printed with `--json`. */
interface Attempt {
  deliveryId: string
  webhookId: string
  number: number
  hookUrl: string
  status?: number
  error?: string
  milliseconds: number
}

const layer = (value: string, previous: readonly number[] = []): number[] => [
  ...previous,
  wholeNumber(0, 1_000_000)(value),
]

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
    .option('--layer <n>', 'layer of the event; repeatable', layer)
    .choice(
      '--fault <name>',
      'fault to inject once: into the next delivery, or into the change extraction that follows it',
      FAULT_NAMES,
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
      const client = await createClient(io, options)
      const events = changeTypes.map((changeType) => ({ ...service, changeType, jobId, taskName, layerIds }))
      const { deliveries, notSent = [] } = await io.withProgress('waiting for the responses', () =>
        withFault(client, options, () => client.postJson('/_mock/trigger', { events, wait })),
      )
      if (!Array.isArray(deliveries)) throw notAService('the response has no deliveries')
      const attempts = deliveries.flatMap((delivery) => parseAttempt(delivery) ?? [])
      const stopped = Array.isArray(notSent) ? notSent.flatMap((entry) => parseStopped(entry) ?? []) : []
      if (attempts.length === 0 && stopped.length === 0) await requireSent(io, client, service, changeTypes)
      if (io.json) io.printJson({ attempts, ...(stopped.length > 0 ? { notSent: stopped } : {}) })
      else printAttempts(io, attempts, wait)
      if (!io.json)
        for (const { webhookId, reason } of stopped)
          io.print(`not sent to ${toPrintable(webhookId)}: its handshake failed: ${toPrintable(reason)}`)
      if ((wait && attempts.length === 0) || stopped.length > 0 || !areAllDelivered(attempts))
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

/** Injects the fault once. Removes the fault if no delivery was sent. */
async function withFault(
  client: ServiceClient,
  { fault, delay, wait }: Options,
  trigger: () => Promise<ServiceResponse>,
): Promise<ServiceResponse> {
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

function parseAttempt(value: unknown): Attempt | undefined {
  const attempt = toRecord(value)
  if (!attempt) return undefined
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

function parseStopped(value: unknown): { webhookId: string; reason: string } | undefined {
  const { webhookId, reason } = toRecord(value) ?? {}
  return typeof webhookId === 'string' && typeof reason === 'string' ? { webhookId, reason } : undefined
}

/** Returns true if at least one attempt of each delivery succeeded. */
function areAllDelivered(attempts: readonly Attempt[]): boolean {
  const succeeded = new Set(
    attempts.filter(({ status }) => isSuccess(status)).map(({ deliveryId }) => deliveryId),
  )
  return attempts.every(({ deliveryId }) => succeeded.has(deliveryId))
}

function printAttempts(io: Io, attempts: readonly Attempt[], wait: boolean): void {
  if (!wait) io.print('triggered')
  else if (attempts.length === 0) io.print('no delivery was sent')
  for (const attempt of attempts) {
    const { status, number, hookUrl, error, milliseconds } = attempt
    const cells = [
      io.toStatus(status),
      `attempt ${number}`,
      toPrintable(hookUrl),
      `${Math.round(milliseconds)} ms`,
      toPrintable(error),
    ]
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
  client: ServiceClient,
  service: ServicePath,
  changeTypes: readonly string[],
): Promise<void> {
  const webhooks = await listIfAllowed(io, client, service)
  const subscriptions = new Set(changeTypes.flatMap(subscriptionsOf))
  const subscribed = webhooks?.filter((webhook) =>
    webhook.changeTypes.some((name) => subscriptions.has(name)),
  )
  if (!subscribed?.length) {
    const [subject, fix] = webhooks
      ? ['no webhook', '"geohook create" creates one, "geohook edit --change-types" changes one.']
      : ['no active webhook', 'Give a token with --token-file or --token-env to see inactive ones too.']
    throw new CliError(EXIT.noSubscription, 'not_subscribed', `${subject} is subscribed to this event`, fix)
  }
  if (subscribed.some(({ active }) => active !== false)) return
  const names = subscribed.map(({ name, id }) => name || id).join(', ')
  const message =
    subscribed.length === 1 ? `the webhook ${names} is inactive` : `the webhooks ${names} are inactive`
  throw new CliError(EXIT.inactive, 'inactive', message, '"geohook edit --active true" activates a webhook.')
}

/** Returns undefined if the client may trigger events, but not list the webhooks. */
async function listIfAllowed(
  io: Io,
  client: ServiceClient,
  service: ServicePath,
): Promise<ListedWebhook[] | undefined> {
  try {
    return await listWebhooks(io, client, service)
  } catch (error) {
    if (error instanceof CliError && /^service_(401|403|498|499)$/.test(error.code)) return undefined
    throw error
  }
}

/** A copy of the mock service's faults, so that the help does not load the service. A test compares both lists. */
export const FAULT_NAMES: readonly FaultName[] = [
  'wrong_key',
  'altered',
  'unsigned',
  'truncated',
  'wrong_content_type',
  'gzip',
  'duplicate',
  'two_at_once',
  'reordered',
  'delayed',
  'slow_drip',
  'connection_dropped',
  'wrong_length',
  'answer_lost',
  'job_failed',
  'completed_with_errors',
  'completed_without_url',
  'unknown_status',
  'result_gone',
  'token_expired',
  'html_answer',
  'error_with_200',
  'window_purged',
  'ids_only_empty',
  'redirect_elsewhere',
  'cut_result',
  'never_done',
]
