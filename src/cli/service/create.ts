import { Command } from 'commander'
import { httpUrl } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import { addClientOptions, type ClientOptions, createClient, type ServiceResponse } from './client.ts'
import { addWebhookOptions, readWebhookOptions, type WebhookOptions } from './webhook-options.ts'
import {
  describeKey,
  redactKeys,
  type ServicePath,
  servicePath,
  toPrintable,
  webhooksPath,
} from './webhooks.ts'

export function createCreateCommand(io: Io): Command {
  const command = new Command('create')
    .summary('create a webhook')
    .description(
      'Creates a webhook on a service. Without --change-types, every event triggers it. ' +
        'Its key comes only from a key option, not from SIGNATURE_KEY.',
    )
    .argument('<service>', 'for example Parcels.FeatureServer', servicePath)
    .requiredOption('--name <text>', 'name of the webhook, unique within the service')
    .requiredOption('--hook-url <url>', 'payload URL', httpUrl)
  addClientOptions(
    addWebhookOptions(command, 'change types that trigger it, separated by commas (default: *)'),
  )
  addExamples(command, [
    'geohook create Parcels.FeatureServer --name edits --hook-url http://127.0.0.1:3000/ --key-file key.txt',
    'geohook create Analysis.GPServer --name jobs --hook-url http://127.0.0.1:3000/jobs',
  ])
  return command.action(async (service: ServicePath, options: ClientOptions & WebhookOptions) => {
    const parameters = await readWebhookOptions(io, options)
    const client = await createClient(io, options)
    const created = await io.withProgress(`asking ${client.origin}`, () =>
      client.postForm(`${webhooksPath(service)}/create`, parameters),
    )
    if (io.json) io.printJson(redactKeys(created))
    else printCreated(io, created)
  })
}

function printCreated(
  io: Io,
  { id, name, hookUrl, changeTypes, active, signatureKey }: ServiceResponse,
): void {
  io.print(`${io.colours.green('created')} ${toPrintable(name)} (${toPrintable(id)})`)
  io.print(`  hookUrl      ${toPrintable(hookUrl)}`)
  io.print(`  changeTypes  ${toPrintable(changeTypes)}`)
  io.print(`  active       ${toPrintable(active)}`)
  io.print(`  key          ${describeKey(signatureKey, 'set')}`)
}
