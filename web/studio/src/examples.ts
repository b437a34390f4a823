/** Photographs that come with the page: public domain, from scikit-image, written by make_examples.py. */

export interface Example {
  readonly name: string;
  readonly title: string;
  readonly file: string;
  readonly credit: string;
}

export const EXAMPLES: readonly Example[] = [
  { name: "astronaut", title: "Astronaut", file: "astronaut.jpg", credit: "Eileen Collins, NASA, public domain" },
  { name: "coffee", title: "Coffee", file: "coffee.jpg", credit: "Rachel Michetti, CC0" },
  { name: "chelsea", title: "Cat", file: "chelsea.jpg", credit: "Stéfan van der Walt, CC0" },
  { name: "rocket", title: "Rocket", file: "rocket.jpg", credit: "SpaceX, CC0" },
];
