import type { Command } from 'commander'
import { CliCommand } from '../options/command.ts'
import { duration } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'
import { addClientOptions, type ClientOptions, createClient, notAService } from './client.ts'

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
      const client = await createClient(io, options)
      const { now } = await io.withProgress('waiting for deliveries', () =>
        client.postJson('/_mock/clock', { advance }),
      )
      if (typeof now !== 'number' || Number.isNaN(new Date(now).getTime()))
        throw notAService('the response has no time')
      io.printResult({ now }, new Date(now).toISOString())
    })
}
