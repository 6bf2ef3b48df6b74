import type { Command } from 'commander'
import type { Admin } from '../../admin/index.ts'
import { abortable, wait } from '../../shared/client.ts'
import type { Json } from '../../shared/json.ts'
import { count } from '../../shared/words.ts'
import { EXIT, toCliError, usageError } from '../errors.ts'
import { addStoreAddressOptions } from '../io/store.ts'
import { CliCommand, requireOthers } from '../options/command.ts'
import { addKeyListOptions, type KeyOptions, readKeys } from '../options/secrets.ts'
import { httpUrl, listOf, originOf } from '../options/values.ts'
import { type Io, printable, toPrintable } from '../terminal/io.ts'
import { type AdminCliOptions, addAdminOptions, type Connection, withAdmin } from './connect.ts'
import { type Examination, type ExamineOptions, examine } from './examine.ts'
import type { Findings } from './verdicts.ts'
import { toShown } from './webhooks.ts'

interface DoctorOptions extends AdminCliOptions, KeyOptions, ExamineOptions {
  strict?: true
  watch?: true
}

/** Milliseconds between two examinations. */
const PAUSE = 60_000

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
    .option('--watch', 'examine every minute until Ctrl-C, and print only changes')
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
      'geohook doctor --watch --json',
    )
    .action(async (services: string[], options: DoctorOptions) => {
      requireOthers(options, [
        ['health', 'watch'],
        ['origin', 'probe'],
      ])
      const keys = await readKeys(io, options)
      if (options.probe === 'handshake' && (!options.origin || keys.length === 0))
        throw usageError('--probe handshake requires --origin and a key')
      // Ctrl-C must not wait for a service that does not respond.
      const stop = options.watch && io.host.signal
      const administer = async (admin: Admin, connection: Connection): Promise<void> => {
        const room: Examination = { io, options, keys, admin, connection, seen: new Map() }
        const look = async (): Promise<Result[]> => {
          const examined = await examine(room, services)
          const webhooks = examined.map(({ webhook }) => webhook)
          const shown = await toShown(io, webhooks, options)
          const results = examined.map(({ findings }, index): Result => {
            const { service, id, name, active, hookUrl } = shown[index] ?? {}
            const { verdict, causes, reasons, notes } = findings
            return { service, id, name, active, hookUrl, verdict, causes, reasons, notes }
          })
          const isSick = ({ verdict }: Result): boolean =>
            verdict === 'sick' || (options.strict === true && verdict === 'unknown')
          io.exitCode = results.some(isSick) ? EXIT.sick : EXIT.success
          return results
        }
        if (options.watch) return watch(room, look)
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

/** What is printed about a webhook. */
type Result = Json & Pick<Findings, 'verdict' | 'causes' | 'reasons' | 'notes'>

/** Examines until Ctrl-C. Prints everything first, and then what has changed. */
async function watch({ io, connection }: Examination, look: () => Promise<Result[]>): Promise<void> {
  const { signal } = io.host
  let printed: Map<string, string> | undefined
  let isReachable = true
  while (!signal.aborted) {
    try {
      const current = new Map<string, string>()
      const results = await abortable(look(), signal)
      connection.progress.stop()
      for (const result of results) {
        const [key, text] = [`${result.service} ${result.id}`, JSON.stringify(result)]
        current.set(key, text)
        if (printed?.get(key) === text) continue
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
    await wait(io.wait(PAUSE), signal).catch(() => {})
  }
}

const COLOURS = { healthy: 'green', unknown: 'yellow', sick: 'red' } as const

function printWebhook(io: Io, { service, id, name, hookUrl, ...findings }: Result, end = ''): void {
  const { verdict, causes, reasons, notes } = findings
  const place = service === '' ? '' : `${toPrintable(service)}  `
  const who = `${io.colours.bold(toPrintable(name))} (${toPrintable(id)})  ${toPrintable(hookUrl)}`
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
