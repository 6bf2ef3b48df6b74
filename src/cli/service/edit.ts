import { Command } from 'commander'
import { usageError } from '../errors.ts'
import { httpUrl } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { printJson } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import {
  addClientOptions,
  type ClientOptions,
  createClient,
  type ServiceClient,
  type ServiceResponse,
} from './client.ts'
import { addWebhookOptions, readWebhookOptions, type WebhookOptions } from './webhook-options.ts'
import {
  findWebhook,
  listWebhooks,
  printWebhook,
  redactKeys,
  type ServicePath,
  servicePath,
  webhooksPath,
} from './webhooks.ts'

interface Options extends ClientOptions, WebhookOptions {
  json?: true
}

export function createEditCommand(): Command {
  const command = new Command('edit')
    .summary('change a webhook')
    .description(
      'Changes a webhook. Required members that you leave out keep their values. ' +
        'Only a key option changes the key, not SIGNATURE_KEY.',
    )
    .argument('<service>', 'for example Parcels.FeatureServer', servicePath)
    .argument('<webhook>', 'id or name of the webhook')
    .option('--name <text>', 'new name')
    .option('--hook-url <url>', 'new payload URL', httpUrl)
  addClientOptions(
    addWebhookOptions(command, 'new change types that trigger it, separated by commas'),
  ).option('--json', 'print JSON')
  addExamples(command, [
    "geohook edit Parcels.FeatureServer 'parcel edits' --hook-url http://127.0.0.1:3000/v2",
    "geohook edit Parcels.FeatureServer 'parcel edits' --key-file new-key.txt",
  ])
  return command.action(async (service: ServicePath, idOrName: string, options: Options) => {
    const changes = await readWebhookOptions(options)
    if (Object.keys(changes).length === 0) {
      throw usageError('there is nothing to change', 'Give --name, --hook-url, --key-file or another option.')
    }
    const client = await createClient(options)
    const edited = await withProgress(`asking ${options.url.origin}`, options.json === true, () =>
      edit(client, service, idOrName, changes),
    )
    if (options.json) printJson(redactKeys(edited))
    else printWebhook('edited', edited, 'signatureKey' in changes ? 'changed' : 'unchanged')
  })
}

async function edit(
  client: ServiceClient,
  service: ServicePath,
  idOrName: string,
  changes: Record<string, string>,
): Promise<ServiceResponse> {
  const { id, name, hookUrl, changeTypes } = findWebhook(await listWebhooks(client, service), idOrName)
  // All services require the name and payload URL, and feature services also the change types (docs/specification.md,
  // "Edit a webhook").
  const required: Record<string, string> = { name, hookUrl }
  if (service.serviceType === 'FeatureServer') required.changeTypes = JSON.stringify(changeTypes)
  return client.postForm(`${webhooksPath(service)}/${encodeURIComponent(id)}/edit`, {
    ...required,
    ...changes,
  })
}
