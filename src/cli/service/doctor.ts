import type { Command } from 'commander'
import type { Admin } from '../../admin/index.ts'
import { abortable, wait } from '../../shared/client.ts'
import { count } from '../../shared/words.ts'
import { EXIT, toCliError, usageError } from '../errors.ts'
import { addStoreAddressOptions } from '../io/store.ts'
import { CliCommand, requireOthers } from '../options/command.ts'
import { addSecretOptions, hasKeyOption, readKeys, type SecretKind } from '../options/secrets.ts'
import { httpUrl, listOf, originOf } from '../options/values.ts'
import { type Io, printable, toPrintable } from '../terminal/io.ts'
import { addAdminOptions, type Connection, withAdmin } from './connect.ts'
import { type DoctorOptions, type Examination, examine, type Result } from './examine.ts'
import { place } from './webhooks.ts'

/** `SIGNATURE_KEY` is not their default, because it may be the key of another receiver. */
const KEYS: SecretKind = { option: 'key', noun: 'signature key of the receiver', several: true }

/** Milliseconds between two examinations. */
const PAUSE = 60_000

export function createDoctorCommand(io: Io): Command {
  return new CliCommand('doctor')
    .summary('find out which webhooks are sick, and why')
    .description(
      'Reads webhooks, their recorded failures and their services, and prints a verdict for each: healthy, sick with ' +
        'its causes, or unknown with its doubts. Connects to no payload URL without --probe. ' +
        'The exit code is 4 if a webhook is sick.',
    )
    .argument(
      '[services...]',
      'for example Parcels.FeatureServer, or portal (default: the service in --url, or all)',
      listOf(place),
    )
    .option('--strict', 'exit with 4 also if a verdict is unknown')
    .option('--watch', 'examine every minute until Ctrl-C, and print only changes')
    .option(
      '--health <url>',
      'with --watch and services: address that returns receiver.stats(), to find silent webhooks',
      httpUrl,
    )
    .choice('--probe <what>', 'also connect to the payload URLs', ['tls', 'handshake'])
    .option(
      '--origin <origin>',
      'with --probe handshake: origin whose payload URLs may get the request; repeatable',
      listOf(originOf),
    )
    .with(addSecretOptions(KEYS))
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
      if (options.health && services.length === 0)
        throw usageError('--health requires the services whose webhooks send to this receiver')
      const keys = hasKeyOption(options) ? await readKeys(io, options) : []
      if (options.probe === 'handshake' && (!options.origin || keys.length === 0))
        throw usageError('--probe handshake requires --origin and a key')
      const administer = async (admin: Admin, connection: Connection): Promise<void> => {
        const examination: Examination = { io, options, keys, admin, connection, seen: new Map() }
        if (options.watch) return watch(examination, services)
        const webhooks = await look(examination, services)
        connection.progress.clear()
        io.printResult({ webhooks }, () => {
          for (const webhook of webhooks) printWebhook(io, webhook)
          const verdicts = Object.keys(COLOURS).map((name) => {
            return `${webhooks.filter(({ verdict }) => verdict === name).length} ${name}`
          })
          io.print(`${count(webhooks.length, 'webhook')}: ${verdicts.join(', ')}`)
        })
      }
      // Ctrl-C must not wait for a service that does not respond.
      await withAdmin(io, options, administer, options.watch && io.host.signal)
    })
}

/** Examines once, and sets the exit code. */
async function look(examination: Examination, services: readonly string[]): Promise<Result[]> {
  const { io, options } = examination
  const results = await examine(examination, services)
  const isAlarm = ({ verdict }: Result): boolean =>
    verdict === 'sick' || (options.strict === true && verdict === 'unknown')
  io.exitCode = results.some(isAlarm) ? EXIT.sick : EXIT.success
  return results
}

/** Examines until Ctrl-C. Prints everything first, and then what has changed. */
async function watch(examination: Examination, services: readonly string[]): Promise<void> {
  const { io, connection } = examination
  const { signal } = io.host
  let printed: Map<string, string> | undefined
  let isReachable = true
  while (!signal.aborted) {
    try {
      const current = new Map<string, string>()
      const results = await abortable(look(examination, services), signal)
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

function printWebhook(io: Io, result: Result, end = ''): void {
  const { service, id, name, hookUrl, verdict, causes, doubts } = result
  const place = service === '' ? '' : `${toPrintable(service)}  `
  const who = `${io.colours.bold(toPrintable(name))} (${toPrintable(id)})  ${toPrintable(hookUrl)}`
  io.print(`${io.colours[COLOURS[verdict]](verdict.padEnd(7))}  ${place}${who}${io.colours.dim(end)}`)
  for (const { code, evidence, fix } of causes) {
    io.print(`  cause     ${io.colours.red(code)}`)
    io.print(`  evidence  ${printable(evidence)}`)
    io.print(`  fix       ${fix}`)
  }
  for (const doubt of doubts) io.print(`  doubt     ${printable(doubt)}`)
}
