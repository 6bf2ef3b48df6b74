import type { Field } from '../../../inspector/action.ts'
import type { DeliverySettings } from '../../delivery-settings.ts'
import type { Webhook } from '../../state/webhook.ts'
import { settingsFields } from '../settings-parameters.ts'
import { createFields, editFields } from '../webhook-fields.ts'
import { type Place, siteHref, webhookHref, webhooksHref } from './layout.ts'

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
export const createForm: CreateForm = ({ address: { family, service }, root, site }) =>
  service && {
    title: `Create a webhook of ${service.path}`,
    action: `${webhooksHref(root, service.path, family)}/create`,
    button: 'Create',
    fields: createFields(service.serviceType, site),
  }

/** The form to edit a webhook. */
export const editForm = (
  { address: { family, service }, id = '', root, site }: Place,
  webhook?: Webhook,
): OperationForm | undefined =>
  service && {
    title: `Edit a webhook of ${service.path}`,
    action: `${webhookHref(root, service.path, id, family)}/edit`,
    button: 'Edit',
    fields: editFields(webhook ?? { serviceType: service.serviceType }, site),
  }

/** The form to change the settings. */
export const settingsForm = (
  { address: { family }, root }: Place,
  settings?: DeliverySettings,
): OperationForm => ({
  title: 'Settings',
  action: `${siteHref(root, family.site ?? '')}/settings`,
  button: 'Change',
  fields: settingsFields(settings),
})

const deleteForm: CreateForm = ({ address: { family, service }, id = '', root }) =>
  service && {
    title: `Delete a webhook of ${service.path}`,
    action: `${webhookHref(root, service.path, id, family)}/delete`,
    button: 'Delete permanently',
    fields: [],
    question: `Delete the webhook ${id}? It cannot be restored.`,
  }

const deleteAllForm: CreateForm = ({ address: { family, service }, root }) =>
  service && {
    title: `Delete all webhooks of ${service.path}`,
    action: `${webhooksHref(root, service.path, family)}/deleteAll`,
    button: 'Delete all permanently',
    fields: [],
    question: `Delete all webhooks of ${service.path}? They cannot be restored.`,
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
