// Adds the features that are optional: live updates, panes without reloading, keyboard shortcuts and copying.

import { connect, togglePause } from './live.js'
import './navigation.js'
import { find } from './page.js'

document.documentElement.classList.add('scripted')

// The address of a page with the result of an action should not be shared: the result is shown only once.
const address = new URL(location.href)
address.searchParams.delete('notice')
history.replaceState(history.state, '', address)

connect()

const pause = find('pause')
pause?.addEventListener('click', () => pause.setAttribute('aria-pressed', String(togglePause())))

// Copy

document.addEventListener('click', async ({ target }) => {
  if (!(target instanceof HTMLElement) || target.dataset.copy === undefined) return
  const element = find(target.dataset.copy)
  if (!element) return
  try {
    await navigator.clipboard.writeText(element.textContent ?? '')
    target.textContent = 'Copied'
  } catch {
    // Browsers have a clipboard only on secure pages.
    getSelection()?.selectAllChildren(element)
    target.textContent = 'Selected'
  }
})

// Keys

/** @param {number} step */
function moveFocus(step) {
  const links = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('#rows a')])
  const focused = links.indexOf(/** @type {HTMLElement} */ (document.activeElement))
  const from = focused === -1 ? links.findIndex((link) => link.hasAttribute('aria-current')) : focused
  links[Math.max(0, from + step)]?.focus()
}

document.addEventListener('keydown', (event) => {
  const { key, target } = event
  if (event.ctrlKey || event.metaKey || event.altKey || !(target instanceof Element)) return
  if (target.closest('input, select, textarea')) return
  const arrow = target.closest('#list') ? { ArrowDown: 1, ArrowUp: -1 }[key] : undefined
  const step = arrow ?? { j: 1, k: -1 }[key]
  if (key === '/') /** @type {HTMLElement | null} */ (document.querySelector('#filters input'))?.focus()
  else if (step) moveFocus(step)
  else return
  event.preventDefault()
})
