import { Command } from 'commander'
import { addClientOptions, type ClientOptions, createClient } from '../client.ts'
import { EXIT } from '../exit.ts'
import { addExamples } from '../help.ts'
import { paint, print, printJson } from '../output.ts'
import { withProgress } from '../progress.ts'
import { toRecord, wholeNumber } from '../values.ts'
import { type ServicePath, servicePath, text } from '../webhooks.ts'

interface Options extends ClientOptions {
  jobId?: string
  taskName?: string
  layer?: number[]
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
    .option('--no-wait', 'do not wait for deliveries')
  addClientOptions(command).option('--json', 'print JSON')
  addExamples(command, [
    'geohook trigger Parcels.FeatureServer FeaturesCreated',
    'geohook trigger Analysis.GPServer esriJobSucceeded --job-id j42',
  ])
  return command.action(async (service: ServicePath, changeTypes: string[], options: Options) => {
    const { jobId, taskName, layer: layerIds, wait } = options
    const client = await createClient(options)
    const events = changeTypes.map((changeType) => ({ ...service, changeType, jobId, taskName, layerIds }))
    const { deliveries } = await withProgress('waiting for the answers', options.json === true, () =>
      client.control('/_mock/trigger', { events, wait }),
    )
    const attempts = Array.isArray(deliveries) ? deliveries.flatMap((one) => toAttempt(one) ?? []) : []
    if (options.json) printJson({ attempts })
    else tell(attempts, wait)
    if (!areAllAnswered(attempts)) process.exitCode = EXIT.no
  })
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
