"""Gymnasium's Box2D lander, its world rebuilt from parameters, its step made lean.

The physics is Gymnasium's LunarLander-v3 (MIT licence), draw for draw: the same bodies
in the same order, the same noise, the same 180/60 solver iterations. Importing this
module needs the extra `box2d`.
"""

import itertools
import math
import struct
import warnings
from typing import Any

import numpy as np
from gymnasium import Env, spaces
from gymnasium.utils import EzPickle

from policymix.domains.lander.task import DrawAhead, LanderParams

with warnings.catch_warnings():
    # SWIG warns on import; were that an error, the interpreter would crash.
    warnings.simplefilter("ignore", DeprecationWarning)
    from gymnasium.envs.box2d import lunar_lander as reference

b2: Any = reference
"""The names of Box2D, which has no types."""
SCALE = reference.SCALE
FPS = reference.FPS
WIDTH = reference.VIEWPORT_W / SCALE
HEIGHT = reference.VIEWPORT_H / SCALE
PAD_Y = HEIGHT / 4
LEG_AWAY, LEG_DOWN = reference.LEG_AWAY / SCALE, reference.LEG_DOWN / SCALE
CENTRE, MIDDLE, GROUND = WIDTH / 2, HEIGHT / 2, PAD_Y + LEG_DOWN
MAIN_ARM = reference.MAIN_ENGINE_Y_LOCATION / SCALE
SIDE_ARM = reference.SIDE_ENGINE_AWAY / SCALE
SIDE_HEIGHT = reference.SIDE_ENGINE_HEIGHT
MAIN_POWER, SIDE_POWER = reference.MAIN_ENGINE_POWER, reference.SIDE_ENGINE_POWER
MAIN_PLUME, SIDE_PLUME = 3.5, 0.7
COLOURS = (128, 102, 230), (77, 77, 128)
ACTIONS = 4
TIME_STEP, VELOCITY_ITERATIONS, POSITION_ITERATIONS = 1.0 / FPS, 6 * 30, 2 * 30
PACK_STATE = struct.Struct("8f").pack_into  # faster than np.array of a list


def observation_space(horizon: int = 1000) -> spaces.Box:
    """Bounds that hold: Box2D moves a body by at most 2 and turns it by π/2 a step.

    Gymnasium's own box (|y| ≤ 2.5, |angle| ≤ 2π) is left by a craft that climbs or
    spins. The space is the same in every task, so the horizon is the longest one.
    """
    move, turn = 2.0, math.pi / 2
    x = 1.0 + 2 * move / WIDTH + 0.1
    climb = 2.0 + (horizon + 1) * 2 * move / HEIGHT
    speed = move * FPS
    vx, vy = speed * WIDTH / 2 / FPS, speed * HEIGHT / 2 / FPS
    high = (x, climb, vx, vy, (horizon + 1) * turn, 20.0 * turn, 1.0, 1.0)
    low = (-x, -1.0, *(-bound for bound in high[2:6]), 0.0, 0.0)
    # A little room for rounding: the limits themselves can be reached.
    room = np.array([1.01] * 6 + [1.0] * 2)
    low, high = (np.asarray(bound * room, np.float32) for bound in (low, high))
    return spaces.Box(low, high)


class Listener(reference.ContactDetector):
    """Gymnasium's detector; SWIG's own empty callbacks take longer."""

    PreSolve = PostSolve = staticmethod(lambda contact, details: None)


class Lander(reference.LunarLander):
    """One task of the lander family, as an ordinary Gymnasium environment.

    Discrete actions, no wind. It has its own time limit; see `LanderParams`.
    """

    lander: Any
    legs: list[Any]
    world: Any

    def __init__(self, params: LanderParams, render_mode: str | None = None):
        super().__init__(render_mode=render_mode)
        EzPickle.__init__(self, params, render_mode)
        self.params = params
        self.observation_space = observation_space()
        rules = params.rules
        self._judge = rules.judge
        self._fuel = 0.0, rules.side_fuel, rules.main_fuel, rules.side_fuel
        self._noise = DrawAhead()
        self._packed: Any = np.empty(8, np.float32)
        self._parts: Any = None

    @property
    def np_random(self) -> np.random.Generator:
        """The generator, just where Gymnasium's would be; see `DrawAhead`."""
        self._noise.put_back()
        return super().np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._noise.put_back()
        self._np_random, self._np_random_seed = value, -1

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        """Build a new moon and craft, and let one idle step pass, as Gymnasium does."""
        self._parts = None
        self._noise.put_back()
        Env.reset(self, seed=seed, options=options)
        self._destroy()
        # A used world is not deterministic (Gymnasium's issue 728), so a new one.
        self.world = b2.Box2D.b2World(gravity=(0, self.gravity))
        self.world.contactListener_keepref = Listener(self)
        self.world.contactListener = self.world.contactListener_keepref
        self.game_over = False
        self._steps, self._return, self._standing = 0, 0.0, 0.0
        self._build_moon()
        self._build_craft()
        hull = self.lander
        # Position and velocity are views into the hull, which live as long as it.
        self._parts = hull, hull.position, hull.linearVelocity, *self.legs
        self._pose = *hull.position, hull.angle
        obs = self.step(0)[0]
        self._steps, self._return = 0, 0.0
        return obs, {"raw_return": 0.0}

    def step(
        self, action: int | np.integer
    ) -> tuple[np.ndarray, float, bool, Any, dict[str, Any]]:
        """Advance by a fiftieth of a second; see `make_lander` for `info`.

        Two random numbers are used up whether an engine fires or not.
        """
        action = int(action)
        if not 0 <= action < ACTIONS:
            raise ValueError(f"action {action} is not one of 0, 1, 2, 3")
        assert self._parts is not None, "call reset() before step()"
        hull, position, velocity, left_leg, right_leg = self._parts
        draws = self._noise.ready or self._noise.refill(self.np_random)
        draw_a, draw_b = draws.pop(), draws.pop()
        if action:
            self._fire(action, draw_a, draw_b)
        self.world.Step(TIME_STEP, VELOCITY_ITERATIONS, POSITION_ITERATIONS)
        self._pose = world_x, world_y, angle = position.x, position.y, hull.angle
        x, y = (world_x - CENTRE) / CENTRE, (world_y - GROUND) / MIDDLE
        vx, vy = velocity.x * CENTRE / FPS, velocity.y * MIDDLE / FPS
        spin = 20.0 * hull.angularVelocity / FPS
        left = 1.0 if left_leg.ground_contact else 0.0
        right = 1.0 if right_leg.ground_contact else 0.0
        PACK_STATE(self._packed, 0, x, y, vx, vy, angle, spin, left, right)
        obs = self._packed.copy()
        if self.render_mode == "human":
            self.render()
        standing, bonus, failed = self._judge(x, y, vx, vy, angle, spin, left, right)
        reward = standing - self._standing + bonus - self._fuel[action]
        self._standing = standing
        self._steps += 1
        failed = failed or self.game_over
        if failed or not hull.awake or self._steps >= self.params.horizon:
            return obs, *self._end(reward, failed)
        self._return += reward
        paid = 0.0 if self.params.deferred else reward
        return obs, paid, False, False, {"raw_return": self._return}

    def _end(self, reward: float, failed: bool) -> tuple[float, bool, bool, dict]:
        """What the last step of an episode returns beside the observation."""
        outcome = "time-out"
        if failed:
            outcome, reward = "failure", -100.0
        if not self.lander.awake:
            outcome, reward = "rest", 100.0
        self._return += reward
        deferred = self.params.deferred
        terminated = deferred or outcome != "time-out"
        info = {"raw_return": self._return, "outcome": outcome}
        paid = self._return if deferred else reward
        return paid, terminated, not terminated, info

    def _fire(self, action: int, draw_a: float, draw_b: float) -> None:
        """Push the craft with its main (2), left (1) or right (3) engine.

        The side engines' 17 and 14 differ in Gymnasium too: their arm turns with the
        craft.
        """
        noise_a = (2.0 * draw_a - 1.0) / SCALE
        noise_b = (2.0 * draw_b - 1.0) / SCALE
        x, y, angle = self._pose
        sin, cos = math.sin(angle), math.cos(angle)
        if action == 2:
            along = MAIN_ARM + 2 * noise_a
            ox = sin * along + -cos * noise_b
            oy = -cos * along - sin * noise_b
            point = (x + ox, y + oy)
            power, plume = MAIN_POWER, MAIN_PLUME
        else:
            across = 3 * noise_b + (action - 2) * SIDE_ARM
            ox = sin * noise_a + -cos * across
            oy = -cos * noise_a - sin * across
            point = (x + ox - sin * 17 / SCALE, y + oy + cos * SIDE_HEIGHT / SCALE)
            power, plume = SIDE_POWER, SIDE_PLUME
        if self.render_mode is not None:  # decoration, without effect on the craft
            particle = self._create_particle(plume, *point, 1.0)
            particle.ApplyLinearImpulse((ox * power, oy * power), point, True)
        self.lander.ApplyLinearImpulse((-ox * power, -oy * power), point, True)

    def _build_moon(self) -> None:
        """Draw the terrain; five of its twelve heights are the landing pad's."""
        chunks = 11
        height = self.np_random.uniform(0, HEIGHT / 2, size=(chunks + 1,))
        middle = chunks // 2
        height[middle - 2 : middle + 3] = PAD_Y
        xs = [WIDTH / (chunks - 1) * i for i in range(chunks)]
        # Index −1 wraps round: the first chunk is smoothed with the twelfth height.
        heights = height.tolist()
        ys = [
            0.33 * (heights[i - 1] + heights[i] + heights[i + 1]) for i in range(chunks)
        ]
        self.helipad_x1, self.helipad_x2 = xs[middle - 1], xs[middle + 1]
        self.helipad_y = PAD_Y
        self.moon = self.world.CreateStaticBody(
            shapes=b2.edgeShape(vertices=[(0, 0), (WIDTH, 0)])
        )
        self.sky_polys = []
        points = list(zip(xs, ys, strict=True))
        edge = b2.edgeShape()
        ground = b2.fixtureDef(shape=edge, density=0, friction=0.1)
        for p1, p2 in itertools.pairwise(points):
            edge.vertices = [p1, p2]  # Box2D copies the shape
            self.moon.CreateFixture(ground)
            self.sky_polys.append([p1, p2, (p2[0], HEIGHT), (p1[0], HEIGHT)])

    def _build_craft(self) -> None:
        """Put hull and legs together at the start, and give them a push.

        The push is drawn before the place, so that the draws are Gymnasium's.
        """
        density = self.params.density
        push = reference.INITIAL_RANDOM
        force = [self.np_random.uniform(-push, push) for _ in range(2)]
        x, y = self._start()
        self.lander = self.world.CreateDynamicBody(
            position=(x, y),
            angle=0.0,
            fixtures=b2.fixtureDef(
                shape=b2.polygonShape(
                    vertices=[(a / SCALE, b / SCALE) for a, b in reference.LANDER_POLY]
                ),
                density=5.0 * density,
                friction=0.1,
                categoryBits=0x0010,
                maskBits=0x001,
                restitution=0.0,
            ),
        )
        self.lander.color1, self.lander.color2 = COLOURS
        factor = self.params.start_force
        self.lander.ApplyForceToCenter((force[0] * factor, force[1] * factor), True)
        self.legs = [self._build_leg(side, x, y) for side in (-1, +1)]
        self.drawlist = [self.lander, *self.legs]

    def _start(self) -> tuple[float, float]:
        """The hull's first place in the world."""
        if self.params.start is None:
            return WIDTH / 2, HEIGHT
        half_width, y = self.params.start
        x = self.np_random.uniform(-half_width, half_width)
        return (1 + x) * WIDTH / 2, y * HEIGHT / 2 + PAD_Y + LEG_DOWN

    def _build_leg(self, side: int, x: float, y: float) -> Any:
        """One leg, hung on the hull by a sprung joint with half a radian of play."""
        leg = self.world.CreateDynamicBody(
            position=(x - side * LEG_AWAY, y),
            angle=side * 0.05,
            fixtures=b2.fixtureDef(
                shape=b2.polygonShape(
                    box=(reference.LEG_W / SCALE, reference.LEG_H / SCALE)
                ),
                density=1.0 * self.params.density,
                restitution=0.0,
                categoryBits=0x0020,
                maskBits=0x001,
            ),
        )
        leg.ground_contact = False
        leg.color1, leg.color2 = COLOURS
        joint = b2.revoluteJointDef(
            bodyA=self.lander,
            bodyB=leg,
            localAnchorA=(0, 0),
            localAnchorB=(side * LEG_AWAY, LEG_DOWN),
            enableMotor=True,
            enableLimit=True,
            maxMotorTorque=reference.LEG_SPRING_TORQUE,
            motorSpeed=0.3 * side,
        )
        near, far = 0.9 - 0.5, 0.9
        if side == -1:
            joint.lowerAngle, joint.upperAngle = near, far
        else:
            joint.lowerAngle, joint.upperAngle = -far, -near
        leg.joint = self.world.CreateJoint(joint)
        return leg
