import { Command, Option } from 'commander'
import type { FaultName } from '../../mock/index.ts'
import { EXIT, usageError } from '../errors.ts'
import { toRecord, wholeNumber } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { paint, print, printJson } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import {
  type Answer,
  addClientOptions,
  type ClientOptions,
  createClient,
  noService,
  type ServiceClient,
} from './client.ts'
import { CHANGE_TYPES, FAULT_NAMES, JOB_ENDS } from './trigger-choices.ts'
import { type ServicePath, servicePath, text } from './webhooks.ts'

interface Options extends ClientOptions {
  jobId?: string
  taskName?: string
  layer?: number[]
  fault?: FaultName
  delay?: number
  wait: boolean
  json?: true
}

/** What is told of an attempt. */
interface Attempt {
  deliveryId: string
  webhookId: string
  number: number
  hookUrl: string
  status?: number
  error?: string
  milliseconds: number
}

const layer = (value: string, before: readonly number[] = []): number[] => [
  ...before,
  wholeNumber(0, 1_000_000)(value),
]

/** `geohook trigger`: lets something happen on a mock service. */
export function createTriggerCommand(): Command {
  const command = new Command('trigger')
    .summary('let something happen on a mock service')
    .description(
      'Lets something happen on a service of a running mock, and waits for what its webhooks are answered. ' +
        'The exit code is 0 if every delivery was answered with 2xx, in the end, else 1.',
    )
    .argument('<service>', 'for example Parcels.FeatureServer', servicePath)
    .argument('<changeTypes...>', 'what happens, for example FeaturesCreated, or esriJobSucceeded')
    .option('--job-id <id>', 'geoprocessing: the job that ended')
    .option('--task-name <name>', 'geoprocessing: its task')
    .option('--layer <n>', 'the layer in which it happens; repeat it for more', layer)
    .addOption(
      new Option('--fault <name>', 'what is to go wrong with the next delivery, and with no other').choices(
        FAULT_NAMES,
      ),
    )
    .option('--delay <ms>', 'with --fault: its delay, in milliseconds', wholeNumber(0, 86_400_000))
    .option('--no-wait', 'do not wait for deliveries')
  addClientOptions(command).option('--json', 'print JSON')
  addExamples(command, [
    'geohook trigger Parcels.FeatureServer FeaturesCreated',
    'geohook trigger Analysis.GPServer esriJobSucceeded --job-id j42',
    'geohook trigger Parcels.FeatureServer FeaturesCreated --fault delayed --delay 2000',
  ])
  command.addHelpText(
    'after',
    [
      'Change types of a feature service:',
      ...CHANGE_TYPES.map((name) => `  ${name}`),
      '',
      'Ends of a job of a geoprocessing service:',
      ...JOB_ENDS.map((name) => `  ${name}`),
    ].join('\n'),
  )
  return command.action(async (service: ServicePath, changeTypes: string[], options: Options) => {
    const { jobId, taskName, layer: layerIds, wait } = options
    if (options.delay !== undefined && !options.fault) throw usageError('--delay goes with --fault')
    const client = await createClient(options)
    const events = changeTypes.map((changeType) => ({ ...service, changeType, jobId, taskName, layerIds }))
    const { deliveries } = await withProgress('waiting for the answers', options.json === true, () =>
      withFault(client, options, () => client.control('/_mock/trigger', { events, wait })),
    )
    if (!Array.isArray(deliveries)) throw noService('the answer has no deliveries')
    const attempts = deliveries.flatMap((one) => toAttempt(one) ?? [])
    if (options.json) printJson({ attempts })
    else tell(attempts, wait)
    if (!areAllAnswered(attempts)) process.exitCode = EXIT.no
  })
}

/** Sets the fault for one delivery, and takes it back where there was none. Without a wait, it may be yet to come. */
async function withFault(
  client: ServiceClient,
  { fault, delay, wait }: Options,
  trigger: () => Promise<Answer>,
): Promise<Answer> {
  if (!fault) return trigger()
  const { id } = await client.control('/_mock/faults', { fault, delay, times: 1 })
  let isSent = false
  try {
    const answer = await trigger()
    isSent = !wait || (Array.isArray(answer.deliveries) && answer.deliveries.length > 0)
    return answer
  } finally {
    // What is wrong is said by the trigger, and a fault that is gone was used.
    if (!isSent) await client.remove(`/_mock/faults/${encodeURIComponent(String(id))}`).catch(() => {})
  }
}

function toAttempt(value: unknown): Attempt | undefined {
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

const isGood = ({ status = 0 }: Attempt): boolean => status >= 200 && status < 300

/** A retry that succeeds makes its delivery good. */
function areAllAnswered(attempts: readonly Attempt[]): boolean {
  const good = new Set(attempts.filter(isGood).map(({ deliveryId }) => deliveryId))
  return attempts.every(({ deliveryId }) => good.has(deliveryId))
}

function tell(attempts: readonly Attempt[], wait: boolean): void {
  if (!wait) print('triggered')
  else if (attempts.length === 0) print('no webhook is subscribed to that')
  for (const attempt of attempts) {
    const { status, number, hookUrl, error, milliseconds } = attempt
    const shown = isGood(attempt) ? paint.green(String(status)) : paint.red(String(status ?? '---'))
    const parts = [shown, `attempt ${number}`, text(hookUrl), `${Math.round(milliseconds)} ms`, text(error)]
    print(parts.filter((part) => part !== '').join('  '))
  }
}
