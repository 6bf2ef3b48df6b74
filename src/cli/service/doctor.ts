import { type Command, InvalidArgumentError } from 'commander'
import type { Admin, Webhook } from '../../admin/index.ts'
import { abortable, wait } from '../../shared/client.ts'
import type { Json } from '../../shared/json.ts'
import { count } from '../../shared/words.ts'
import { EXIT, toCliError, usageError } from '../errors.ts'
import { addStoreAddressOptions } from '../io/store.ts'
import { CliCommand, requireOthers } from '../options/command.ts'
import { addKeyListOptions, type KeyOptions, readKeys } from '../options/secrets.ts'
import { duration, httpUrl, listOf, originOf } from '../options/values.ts'
import { type Io, printable } from '../terminal/io.ts'
import { type AdminCliOptions, addAdminOptions, type Connection, withAdmin } from './connect.ts'
import { type Examination, type Examined, type ExamineOptions, examine } from './examine.ts'

interface DoctorOptions extends AdminCliOptions, KeyOptions, ExamineOptions {
  strict?: true
  watch?: true
  every?: number
}

/** Default milliseconds between two examinations. */
const EVERY = 60_000

function interval(value: string): number {
  const milliseconds = duration(value)
  if (milliseconds >= 5_000 && milliseconds <= 86_400_000) return milliseconds
  throw new InvalidArgumentError('must be a duration from 5s to 1d')
}

export function createDoctorCommand(io: Io): Command {
  return new CliCommand('doctor')
    .summary('find out which webhooks are sick, and why')
    .description(
      'Reads webhooks, their recorded failures and their services, and prints a verdict for each: healthy, sick with ' +
        'its causes, or unknown with the reasons. Connects to no payload URL without --probe. ' +
        'The exit code is 4 if a webhook is sick.',
    )
    .argument('[services...]', 'for example Parcels.FeatureServer (default: the service in --url, or all)')
    .option('--strict', 'exit with 4 also if a verdict is unknown')
    .option('--watch', 'examine again and again until Ctrl-C, and print only changes')
    .option(
      '--every <time>',
      'with --watch: time between two examinations, 5s to 1d (default: 60s)',
      interval,
    )
    .option(
      '--health <url>',
      'with --watch: address that returns receiver.stats(), to find silent webhooks',
      httpUrl,
    )
    .choice('--probe <what>', 'also connect to the payload URLs', ['tls', 'handshake'])
    .option(
      '--origin <origin>',
      'with --probe handshake: origin whose payload URLs may get the request; repeatable',
      listOf(originOf),
    )
    .with(addKeyListOptions)
    .with(addStoreAddressOptions)
    .with(addAdminOptions)
    .examples(
      'geohook doctor',
      'geohook doctor Parcels.FeatureServer --key-file key.txt --store inbox.db',
      'geohook doctor --watch --every 30s --json',
    )
    .action(async (services: string[], options: DoctorOptions) => {
      requireOthers(options, [
        ['every', 'watch'],
        ['health', 'watch'],
        ['origin', 'probe'],
      ])
      const keys = await readKeys(io, options)
      if (options.probe === 'handshake' && (!options.origin || keys.length === 0))
        throw usageError('--probe handshake requires --origin and a key')
      // Ctrl-C must not wait for a service that does not respond.
      const stop = options.watch && io.host.signal
      const administer = async (admin: Admin, connection: Connection): Promise<void> => {
        const { showWebhook } = await import('../../admin/index.ts')
        const toResult = ({ webhook, findings }: Examined): Result => {
          if (options.showUrls && webhook.hookUrl) io.showUrl(webhook.hookUrl)
          const { service, id, name, active, hookUrl } = showWebhook(webhook, options.showUrls) as Json &
            Shown
          const { verdict, causes, reasons, notes } = findings
          return { service, id, name, active, hookUrl, verdict, causes, reasons, notes }
        }
        const room: Examination = { io, options, keys, admin, connection, seen: new Map() }
        const look = async (): Promise<Result[]> => {
          const results = (await examine(room, services)).map(toResult)
          const isSick = ({ verdict }: Result): boolean =>
            verdict === 'sick' || (options.strict === true && verdict === 'unknown')
          io.exitCode = results.some(isSick) ? EXIT.sick : EXIT.success
          return results
        }
        if (options.watch) return watch(room, look, options.every ?? EVERY)
        const webhooks = await look()
        connection.progress.clear()
        io.printResult({ webhooks }, () => {
          for (const webhook of webhooks) printWebhook(io, webhook)
          printSummary(io, webhooks)
        })
      }
      await withAdmin(io, options, administer, stop)
    })
}

type Shown = Pick<Webhook, 'service' | 'id' | 'name' | 'active' | 'hookUrl'>

/** What is printed about a webhook. */
type Result = Shown & Pick<Examined['findings'], 'verdict' | 'causes' | 'reasons' | 'notes'>

/** Examines until Ctrl-C. Prints everything first, and then what has changed. */
async function watch(
  { io, connection }: Examination,
  look: () => Promise<Result[]>,
  every: number,
): Promise<void> {
  const { signal } = io.host
  let printed: Map<string, string> | undefined
  let isReachable = true
  while (!signal.aborted) {
    try {
      const results = await abortable(look(), signal)
      const current = new Map(
        results.map((result) => [`${result.service} ${result.id}`, JSON.stringify(result)]),
      )
      connection.progress.stop()
      for (const result of results) {
        const key = `${result.service} ${result.id}`
        if (printed?.get(key) === current.get(key)) continue
        const at = new Date().toISOString()
        if (io.json) io.printEvent({ event: 'webhook', at, ...result })
        else printWebhook(io, result, `  ${at}`)
      }
      printed = current
      isReachable = true
    } catch (error) {
      if (signal.aborted) return
      const { code, message } = toCliError(error)
      if (!printed || !/unavailable|unreachable/.test(code)) throw error
      if (isReachable) io.note(`trying again: ${printable(message)}`)
      isReachable = false
    }
    await wait(io.wait(every), signal).catch(() => {})
  }
}

const COLOURS = { healthy: 'green', unknown: 'yellow', sick: 'red' } as const

function printWebhook(io: Io, { service, id, name, hookUrl = '', ...result }: Result, end = ''): void {
  const { verdict, causes, reasons, notes } = result
  const place = service === '' ? '' : `${printable(service)}  `
  const who = `${io.colours.bold(printable(name))} (${printable(id)})  ${printable(hookUrl)}`
  io.print(`${io.colours[COLOURS[verdict]](verdict.padEnd(7))}  ${place}${who}${io.colours.dim(end)}`)
  for (const { code, evidence, fix } of causes) {
    io.print(`  cause     ${io.colours.red(code)}`)
    io.print(`  evidence  ${printable(evidence)}`)
    io.print(`  fix       ${fix}`)
  }
  for (const reason of reasons) io.print(`  reason    ${printable(reason)}`)
  for (const note of notes) io.print(`  note      ${printable(note)}`)
}

function printSummary(io: Io, webhooks: readonly Result[]): void {
  const numbers = Object.keys(COLOURS).map((name) => {
    return `${webhooks.filter(({ verdict }) => verdict === name).length} ${name}`
  })
  io.print(`${count(webhooks.length, 'webhook')}: ${numbers.join(', ')}`)
}
