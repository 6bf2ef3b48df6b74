import type { Field } from '../../../inspector/action.ts'
import type { DeliverySettings } from '../../delivery-settings.ts'
import type { Webhook } from '../../state/webhook.ts'
import { settingsFields } from '../settings-parameters.ts'
import { createFields, editFields } from '../webhook-fields.ts'
import { type Place, webhookHref, webhooksHref } from './layout.ts'

/** The form of an operation. */
export interface OperationForm {
  title: string
  action: string
  button: string
  fields: readonly Field[]
  /** Asked before the operation runs. */
  question?: string
}

/** Returns the form of a place, without the current values. */
type CreateForm = (place: Place) => OperationForm | undefined

/** The form to create a webhook of a service. */
export const createForm: CreateForm = ({ address, root, site }) =>
  address.scope !== 'service'
    ? undefined
    : {
        title: `Create a webhook of ${address.service}`,
        action: `${webhooksHref(root, address.service)}/create`,
        button: 'Create',
        fields: createFields(address.serviceType, site),
      }

/** The form to edit a webhook. */
export const editForm = (
  { address, id = '', root, site }: Place,
  webhook?: Webhook,
): OperationForm | undefined =>
  address.scope !== 'service'
    ? undefined
    : {
        title: `Edit a webhook of ${address.service}`,
        action: `${webhookHref(root, address.service, id)}/edit`,
        button: 'Edit',
        fields: editFields(webhook ?? { serviceType: address.serviceType }, site),
      }

/** The form to change the settings. */
export const settingsForm = ({ root }: Place, settings?: DeliverySettings): OperationForm => ({
  title: 'Settings',
  action: `${root}services/webhooks/settings`,
  button: 'Change',
  fields: settingsFields(settings),
})

const deleteForm: CreateForm = ({ address, id = '', root }) =>
  address.scope !== 'service'
    ? undefined
    : {
        title: `Delete a webhook of ${address.service}`,
        action: `${webhookHref(root, address.service, id)}/delete`,
        button: 'Delete permanently',
        fields: [],
        question: `Delete the webhook ${id}? It cannot be restored.`,
      }

const deleteAllForm: CreateForm = ({ address, root }) =>
  address.scope !== 'service'
    ? undefined
    : {
        title: `Delete all webhooks of ${address.service}`,
        action: `${webhooksHref(root, address.service)}/deleteAll`,
        button: 'Delete all permanently',
        fields: [],
        question: `Delete all webhooks of ${address.service}? They cannot be restored.`,
      }

/** Operations whose form is shown again after an error, or shown first because it asks. */
const FORMS: Readonly<Record<string, CreateForm>> = {
  create: createForm,
  edit: editForm,
  settings: settingsForm,
  delete: deleteForm,
  deleteAll: deleteAllForm,
}

/** @returns undefined for operations without such a form */
export const operationForm = (operation: string, place: Place): OperationForm | undefined =>
  Object.hasOwn(FORMS, operation) ? FORMS[operation]?.(place) : undefined
