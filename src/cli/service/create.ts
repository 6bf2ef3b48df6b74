import { Command } from 'commander'
import { httpUrl } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { colours, print, printJson } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
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

export function createCreateCommand(): Command {
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
  ).option('--json', 'print JSON')
  addExamples(command, [
    'geohook create Parcels.FeatureServer --name edits --hook-url http://127.0.0.1:3000/ --key-file key.txt',
    'geohook create Analysis.GPServer --name jobs --hook-url http://127.0.0.1:3000/jobs',
  ])
  return command.action(
    async (service: ServicePath, options: ClientOptions & WebhookOptions & { json?: true }) => {
      const parameters = await readWebhookOptions(options)
      const client = await createClient(options)
      const created = await withProgress(`asking ${options.url.origin}`, options.json === true, () =>
        client.postForm(`${webhooksPath(service)}/create`, parameters),
      )
      if (options.json) printJson(redactKeys(created))
      else printCreated(created)
    },
  )
}

function printCreated({ id, name, hookUrl, changeTypes, active, signatureKey }: ServiceResponse): void {
  print(`${colours.green('created')} ${toPrintable(name)} (${toPrintable(id)})`)
  print(`  hookUrl      ${toPrintable(hookUrl)}`)
  print(`  changeTypes  ${toPrintable(changeTypes)}`)
  print(`  active       ${toPrintable(active)}`)
  print(`  key          ${describeKey(signatureKey, 'set')}`)
}
