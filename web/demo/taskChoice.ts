/** The two things that the page's networks do, as buttons of which one is pressed. */
import type { DemoTask } from './address.ts';
import { demoTasks } from './address.ts';
import { createElement } from './createElement.ts';

const labels: { readonly [Task in DemoTask]: string } = {
  upscale: 'Make a picture larger',
  classify: 'Say what it shows',
};

export interface TaskChoice {
  readonly task: DemoTask;
  /** Offers a task no longer; where it was chosen, the first of the others is. */
  withdraw(task: DemoTask): void;
}

export function createTaskChoice(
  root: HTMLElement,
  first: DemoTask,
  onChoose: (task: DemoTask) => void,
): TaskChoice {
  let task = first;
  let offered: readonly DemoTask[] = demoTasks;
  const buttonOf = (name: DemoTask) => {
    const button = createElement(
      'button',
      { type: 'button', 'data-task': name, 'aria-pressed': String(name === task) },
      labels[name],
    );
    button.addEventListener('click', () => choose(name));
    return [name, button] as const;
  };
  const buttons = new Map(demoTasks.map(buttonOf));
  const choose = (name: DemoTask) => {
    if (name === task) return;
    task = name;
    for (const [own, button] of buttons) button.setAttribute('aria-pressed', String(own === task));
    onChoose(name);
  };
  root.append(...buttons.values());
  return {
    get task() {
      return task;
    },
    withdraw(name) {
      offered = offered.filter((one) => one !== name);
      const [first] = offered;
      // Of one thing there is nothing to choose.
      if (offered.length < 2) root.replaceChildren();
      else buttons.get(name)?.remove();
      if (name === task && first !== undefined) choose(first);
    },
  };
}
