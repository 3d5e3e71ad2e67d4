"""stable_baselines3, sb3_contrib, tianshou, tensordict, torchrl: agents that learn in gymnasium's small worlds, their data and losses."""
import random

import gymnasium
import numpy as np
import torch
from _telling import case, cases, learned
from torch import nn


def trained(library, name, world, steps, **options):
    random.seed(0)
    np.random.seed(0)
    kind = getattr(__import__(library), name)
    model = kind("MlpPolicy", world, seed=1, device="cpu", policy_kwargs=dict(net_arch=[16, 16]), **options)
    model.learn(steps)
    seen = np.zeros((3, *model.observation_space.shape), np.float32)
    return torch.as_tensor(np.asarray(model.predict(seen, deterministic=True)[0])), list(model.policy.parameters())[:4], model._n_updates


CART, PENDULUM = "CartPole-v1", "Pendulum-v1"
ON, OFF = dict(n_steps=64, batch_size=32), dict(learning_starts=50, buffer_size=500, batch_size=16)
for library, name, world, steps, options in (
        ("stable_baselines3", "PPO", CART, 128, dict(ON, n_epochs=2)), ("stable_baselines3", "PPO", PENDULUM, 128, dict(ON, use_sde=True)),
        ("stable_baselines3", "A2C", CART, 100, {}), ("stable_baselines3", "DQN", CART, 150, OFF),
        ("stable_baselines3", "SAC", PENDULUM, 80, OFF),
        ("stable_baselines3", "TD3", PENDULUM, 80, OFF), ("sb3_contrib", "TRPO", CART, 128, ON), ("sb3_contrib", "QRDQN", CART, 150, OFF),
        ("sb3_contrib", "TQC", PENDULUM, 80, OFF), ("sb3_contrib", "CrossQ", PENDULUM, 80, OFF),
        ("sb3_contrib", "ARS", CART, 400, dict(n_delta=2))):
    case(f"{library}.{name}.{world}", lambda: trained(library, name, world, steps, **options))


def case_tianshou():
    from tianshou.algorithm import DQN
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, CollectStats, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv
    from tianshou.utils.net.common import Net
    from tianshou.utils.torch_utils import policy_within_training_step, torch_train_mode
    np.random.seed(0)
    world, worlds = gymnasium.make(CART), DummyVectorEnv([lambda: gymnasium.make(CART)] * 2)
    worlds.seed(1)
    world.action_space.seed(1)
    net = Net(state_shape=(4,), action_shape=2, hidden_sizes=[16])
    policy = DiscreteQLearningPolicy(model=net, action_space=world.action_space, observation_space=world.observation_space,
                                     eps_training=0.3)
    agent = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), n_step_return_horizon=3, target_update_freq=10)
    collector, told = Collector[CollectStats](agent, worlds, VectorReplayBuffer(200, 2)), []
    collector.reset()
    collector.collect(n_step=60)
    for _ in range(4):
        with policy_within_training_step(policy), torch_train_mode(agent):
            told.append(agent.update(buffer=collector.buffer, sample_size=16).loss)
    return told, list(net.parameters())


def bag():
    from tensordict import TensorDict
    return TensorDict(dict(a=torch.arange(6.0).reshape(3, 2), b=dict(c=torch.ones(3, 1, dtype=torch.int64))), batch_size=[3])


for name, f in dict(
        shown=repr, indexed=lambda t: repr(t[torch.tensor([True, False, True])]), stacked=lambda t: repr(torch.stack([t, t], 1)),
        joined=lambda t: torch.cat([t, t])["b", "c"], flat=lambda t: sorted(t.flatten_keys(".").keys()),
        arithmetic=lambda t: ((t + 1) * 2)["a"],
        reduced=lambda t: [t.sum()["a"], t.float().std(0)["a"]], moved=lambda t: [repr(t.to(torch.float64)), repr(t.to("meta"))],
        mapped=lambda t: torch.vmap(lambda u: u.apply(lambda x: x.sum()))(t)["a"], locked=lambda t: t.lock_().set("z", torch.zeros(3)),
        missing=lambda t: t["nope"], misfit=lambda t: t.set("z", torch.zeros(2)), filled=lambda t: t.masked_fill(t["a"][:, 0] > 1, 7)["a"],
        graded=lambda t: (lambda u: [(u["a"] ** 2).sum().backward(), u.grad["a"]])(t.select("a").requires_grad_())).items():
    case(f"tensordict.{name}", lambda: f(bag()))


def parts():
    from tensordict.nn import NormalParamExtractor, TensorDictModule
    from torchrl.data import Bounded
    from torchrl.modules import MLP, Actor, ProbabilisticActor, TanhNormal, ValueOperator
    spec = Bounded(-1, 1, (2,))
    normal = TensorDictModule(nn.Sequential(MLP(in_features=3, out_features=4, num_cells=[8]), NormalParamExtractor()), ["observation"],
                              ["loc", "scale"])
    return (spec, ProbabilisticActor(normal, in_keys=["loc", "scale"], distribution_class=TanhNormal, return_log_prob=True, spec=spec),
            Actor(nn.Sequential(MLP(in_features=3, out_features=2, num_cells=[8]), nn.Tanh()), spec=spec),
            ValueOperator(MLP(in_features=5, out_features=1, num_cells=[8]), in_keys=["observation", "action"]),
            ValueOperator(MLP(in_features=3, out_features=1, num_cells=[8])))


def lost(make):
    from tensordict import TensorDict
    from torchrl import objectives
    loss = make(objectives, *parts())
    loss.make_value_estimator(gamma=0.9)
    ended = torch.zeros(6, 1, dtype=torch.bool)
    out = loss(TensorDict(dict(observation=torch.randn(6, 3), action=torch.rand(6, 2) - 0.5, action_log_prob=torch.randn(6), next=dict(
        observation=torch.randn(6, 3), reward=torch.randn(6, 1), done=ended, terminated=ended)), batch_size=[6]))
    sum([v for k, v in out.items() if k.startswith("loss")]).backward()
    return dict(out.items()), [p.grad for p in loss.parameters() if p.grad is not None]


for name, make in dict(
        DDPG=lambda o, spec, p, d, q, v: o.DDPGLoss(d, q), TD3=lambda o, spec, p, d, q, v: o.TD3Loss(d, q, action_spec=spec),
        SAC=lambda o, spec, p, d, q, v: o.SACLoss(p, q, action_spec=spec), REDQ=lambda o, spec, p, d, q, v: o.REDQLoss(p, q, action_spec=spec),
        IQL=lambda o, spec, p, d, q, v: o.IQLLoss(p, q, v), CQL=lambda o, spec, p, d, q, v: o.CQLLoss(p, q, action_spec=spec),
        A2C=lambda o, spec, p, d, q, v: o.A2CLoss(p, v), Reinforce=lambda o, spec, p, d, q, v: o.ReinforceLoss(p, v)).items():
    case(f"torchrl.{name}", lambda: lost(make))


def case_torchrl_world():
    from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
    from torchrl.envs import Compose, GymEnv, RewardSum, StepCounter, TransformedEnv
    world = TransformedEnv(GymEnv(CART), Compose(StepCounter(), RewardSum()))
    world.set_seed(1)
    went, buffer = world.rollout(10), TensorDictReplayBuffer(storage=LazyTensorStorage(50), batch_size=4)
    buffer.extend(went)
    return went["observation"], went["next", "episode_reward"], buffer.sample()["observation"], repr(went), repr(world.observation_spec)


def case_recurrent():
    from sb3_contrib import RecurrentPPO
    model = RecurrentPPO("MlpLstmPolicy", CART, seed=1, n_steps=32, batch_size=16, n_epochs=2, device="cpu",
                         policy_kwargs=dict(net_arch=[16], lstm_hidden_size=8))
    model.learn(64)
    return list(model.policy.parameters())[:4]


def case_noisy():
    from tianshou.utils.net.discrete import NoisyLinear
    return learned(NoisyLinear(4, 3), torch.randn(2, 4))


cases(globals())
