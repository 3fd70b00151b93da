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
}

export function createTaskChoice(
  root: HTMLElement,
  first: DemoTask,
  onChoose: (task: DemoTask) => void,
): TaskChoice {
  let task = first;
  const buttons = demoTasks.map((name) => {
    const button = createElement('button', { type: 'button', 'data-task': name }, labels[name]);
    button.addEventListener('click', () => {
      if (name === task) return;
      task = name;
      mark();
      onChoose(name);
    });
    return button;
  });
  const mark = () => {
    for (const button of buttons)
      button.setAttribute('aria-pressed', String(button.dataset['task'] === task));
  };
  mark();
  root.append(...buttons);
  return {
    get task() {
      return task;
    },
  };
}
