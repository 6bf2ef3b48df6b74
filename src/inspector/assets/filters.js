// Filters, whose state is in the address.

import { connect } from './live.js'
import { find } from './page.js'

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing

/** @returns {NodeListOf<HTMLInputElement | HTMLSelectElement>} */
const filterFields = () => document.querySelectorAll('#filters [name]')

/** Shows the filters of the address. @returns true if they were others */
export function restoreFilters() {
  const query = new URLSearchParams(location.search)
  let hasChanged = false
  for (const field of filterFields()) {
    const value = query.get(field.name) ?? ''
    if (field.value !== value) hasChanged = true
    field.value = value
  }
  return hasChanged
}

/** Puts the filters into the address, and loads the list and the links of the pane with them. */
export function applyFilters() {
  clearTimeout(typing)
  const url = new URL(location.href)
  url.searchParams.delete('after')
  for (const { name, value } of filterFields()) {
    url.searchParams.delete(name)
    if (value !== '') url.searchParams.set(name, value)
  }
  if (url.href === location.href) return
  history.replaceState(history.state, '', url)
  connect()
}
find('filters')?.addEventListener('change', applyFilters)
find('filters')?.addEventListener('input', () => {
  clearTimeout(typing)
  typing = setTimeout(applyFilters, 300)
})
