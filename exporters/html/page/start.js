// SPDX-License-Identifier: Apache-2.0
//
// Reads what the page carries, shows it, or says why not.

async function start() {
	const message = $('message');
	performance.mark('page:loaded');
	try {
		if (typeof DecompressionStream === 'undefined')
			throw new Error('this browser is too old: it has no DecompressionStream');
		const bytes = await readCarried($('profile')), base = $('profile-base') ? await readCarried($('profile-base')) : null;
		if (bytes.length === 0)
			throw new Error('there is none in it');
		performance.mark('page:read');
		const profile = decodeProfile(bytes, base);
		performance.mark('page:decoded');
		new App(profile);
		performance.mark('page:drawn');
		document.documentElement.dataset.state = 'drawn';
	} catch (error) {
		message.hidden = false;
		message.className = 'wrong';
		message.textContent = `This page's profile cannot be shown: ${shown(String(error.message || error), 300)}`;
		document.documentElement.dataset.state = 'failed';
		console.error(error);
	}
}

addEventListener('DOMContentLoaded', start);
