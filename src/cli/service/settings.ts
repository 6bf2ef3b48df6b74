import type { Command } from 'commander'
import type { DeliverySettings } from '../../admin/index.ts'
import { CliCommand } from '../options/command.ts'
import { wholeNumber } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'
import { type AdminCliOptions, addAdminOptions, withAdmin } from './connect.ts'

/** Each setting, with its option and what it is. */
const SETTINGS = [
  ['attempts', 'attempts', 'attempts for one delivery'],
  ['timeoutInSeconds', 'timeout', 'timeout of an attempt in seconds'],
  ['pauseInSeconds', 'pause', 'seconds between two attempts'],
  ['numberOfFailures', 'failures', 'failed deliveries after which a webhook is deactivated'],
  ['daysInPast', 'days', 'days in which these failures are counted'],
] as const

type Options = AdminCliOptions & { [name in (typeof SETTINGS)[number][1]]?: number }

export function createSettingsCommand(io: Io): Command {
  const command = new CliCommand('settings')
    .summary('print or change how a service delivers')
    .description(
      'Prints how a site, organization or portal delivers to its webhooks, or changes these settings.',
    )
  for (const [, option, description] of SETTINGS)
    command.option(`--${option} <n>`, `change this setting: ${description}`, wholeNumber(0, 100_000))
  return command
    .with(addAdminOptions)
    .examples('geohook settings', 'geohook settings --attempts 3 --pause 5')
    .action(async (options: Options) => {
      const given = SETTINGS.flatMap(([name, option]) =>
        options[option] === undefined ? [] : [[name, options[option]]],
      )
      const changes: DeliverySettings = Object.fromEntries(given)
      const settings = await withAdmin(io, options, (admin) =>
        given.length > 0 ? admin.editSettings(changes) : admin.settings(),
      )
      io.printResult(settings, () => {
        for (const [name, option, description] of SETTINGS)
          if (settings[name] !== undefined)
            io.print(`${option.padEnd(8)}  ${settings[name]}  ${io.colours.dim(description)}`)
      })
    })
}
